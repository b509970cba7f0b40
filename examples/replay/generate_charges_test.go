package main

import (
	"slices"
	"testing"
	"time"
)

// lives are the charges of the shipped file, with the first delivery of each of
// their events, in the order in which the events happened.
func lives(t *testing.T) map[string][]Delivery {
	t.Helper()
	deliveries, err := load("")
	if err != nil {
		t.Fatal(err)
	}
	_, changes := split(deliveries)
	seen := map[string]bool{}
	out := map[string][]Delivery{}
	for _, d := range changes {
		if !seen[d.event()] {
			seen[d.event()] = true
			out[d.charge()] = append(out[d.charge()], d)
		}
	}
	for _, events := range out {
		slices.SortFunc(events, func(a, b Delivery) int { return a.CreatedAt.Compare(b.CreatedAt) })
	}
	return out
}

func changeOf(t *testing.T, d Delivery) change {
	t.Helper()
	c, err := d.change()
	if err != nil || c.Charge != d.Entity || "charge."+c.Status != d.Type {
		t.Errorf("%s says %+v, %v", d.event(), c, err)
	}
	return c
}

func TestGenerate_ChargesLiveAsChargesDo(t *testing.T) {
	charges := lives(t)
	for charge, events := range charges {
		if events[len(events)-1].NeverSent {
			t.Errorf("the last event of %s was never sent", charge)
		}
		for i, d := range events {
			c := changeOf(t, d)
			if i > 0 && !d.CreatedAt.After(events[i-1].CreatedAt) {
				t.Errorf("%s: the source cannot tell which of two events came first", charge)
			}
			if counted := c.Sequence == uint64(i+1) && c.Created == 0; d.Namespace == countingSender && !counted {
				t.Errorf("%s: event %d says %+v", charge, i+1, c)
			}
			if stamped := c.Created == d.CreatedAt.Unix() && c.Sequence == 0; d.Namespace == stampingSender && !stamped {
				t.Errorf("%s: event %d says %+v", charge, i+1, c)
			}
		}
	}
	if len(charges) != 30 {
		t.Errorf("%d charges", len(charges))
	}
}

// What makes order hard: each of it happens.
func TestGenerate_ChargesArriveAsEventsDo(t *testing.T) {
	got := map[string]int{}
	for _, events := range lives(t) {
		for i, d := range events {
			if d.NeverSent {
				got["never sent by "+d.Namespace]++
				continue
			}
			for _, later := range events[i+1:] {
				if !later.NeverSent {
					compare(t, d, later, got)
				}
			}
		}
	}
	for what, least := range map[string]int{
		"overtaken":                       15,
		"more than 12 h apart":            5,
		"of one second":                   4,
		"expired before paid":             3,
		"expired after paid":              1,
		"never sent by " + countingSender: 5,
		"never sent by " + stampingSender: 2,
	} {
		if got[what] < least {
			t.Errorf("%s: %d times, want at least %d", what, got[what], least)
		}
	}
	t.Log(got)
}

// compare counts what is remarkable about two events of which one came later.
func compare(t *testing.T, d, later Delivery, got map[string]int) {
	t.Helper()
	a, b := changeOf(t, d), changeOf(t, later)
	lag := later.DeliveredAt.Sub(d.DeliveredAt)
	got["overtaken"] += one(lag < 0)
	got["more than 12 h apart"] += one(lag.Abs() > 12*time.Hour)
	got["of one second"] += one(a.Created != 0 && a.Created == b.Created)
	if a.Status == "expired" && b.Status == "paid" {
		got["expired before paid"] += one(lag > 0)
		got["expired after paid"] += one(lag < 0)
	}
}

// The same seed makes the same deliveries, whatever their number.
func TestGenerate_CreditsDoNotDependOnCharges(t *testing.T) {
	few, _ := split(generate(4, 9)) // no charge
	more, changes := split(generate(30, 9))
	first := map[string]bool{}
	for _, d := range more {
		first[d.DeliveryID] = true
	}
	for _, d := range few {
		if !first[d.DeliveryID] {
			t.Errorf("delivery %s is missing among more", d.DeliveryID)
		}
	}
	if len(newSource(changes)) != 6 {
		t.Errorf("%d charges, want one for every five events", len(newSource(changes)))
	}
}
