package main

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"time"
)

// The shipped file is `-generate 150 -seed 1`.
func TestGenerate_MakesTheShippedFile(t *testing.T) {
	var made bytes.Buffer
	if err := writeDeliveries(&made, generate(150, 1)); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(made.Bytes(), shipped) {
		t.Error("deliveries.jsonl differs from the generator's output: write it anew with -generate 150 -seed 1")
	}
}

func TestGenerate_BehavesAsSendersDo(t *testing.T) {
	deliveries, err := load("")
	if err != nil {
		t.Fatal(err)
	}
	if !slices.IsSortedFunc(deliveries, func(a, b Delivery) int { return a.DeliveredAt.Compare(b.DeliveredAt) }) {
		t.Error("deliveries are not in the order of their delivery")
	}
	checkDeliveryIDs(t, deliveries)
	credits, _ := split(deliveries)
	eventIDs := map[string]bool{}
	events := map[string][]Delivery{}
	lost := map[lostReply]int{}
	for _, d := range credits {
		eventIDs[d.EventID] = true
		events[d.event()] = append(events[d.event()], d)
		lost[d.Lost]++
		if cents, err := d.cents(); err != nil || cents <= 0 {
			t.Errorf("amount %d, %v", cents, err)
		}
	}
	if len(events) != 150 || len(eventIDs) >= len(events) {
		t.Errorf("%d events with %d ids, want 150 with at least one id that two senders use", len(events), len(eventIDs))
	}
	if len(lost) != 4 || lost[lostClaim] < 5 || lost[lostComplete] < 5 || lost[lostAck] < 5 {
		t.Errorf("lost replies: %v", lost)
	}
	checkRepeats(t, events)
	checkOvertaking(t, credits)
}

func checkDeliveryIDs(t *testing.T, deliveries []Delivery) {
	t.Helper()
	seen := map[string]bool{}
	for _, d := range deliveries {
		if d.NeverSent != (d.DeliveryID == "") || seen[d.DeliveryID] && !d.NeverSent {
			t.Errorf("delivery id %q of %s", d.DeliveryID, d.event())
		}
		seen[d.DeliveryID] = true
	}
}

func checkRepeats(t *testing.T, events map[string][]Delivery) {
	t.Helper()
	most, atOnce, monthsLater := 0, 0, 0
	for event, all := range events {
		most = max(most, len(all))
		for i, d := range all[1:] {
			if !bytes.Equal(d.Payload, all[0].Payload) || !d.CreatedAt.Equal(all[0].CreatedAt) || d.Entity != all[0].Entity {
				t.Errorf("%s changes between deliveries", event)
			}
			switch gap := d.DeliveredAt.Sub(all[i].DeliveredAt); {
			case gap < 5*time.Millisecond:
				atOnce++
			case gap > 30*24*time.Hour:
				monthsLater++
			}
		}
	}
	if most > maxAttempts || most < 4 || atOnce < 10 || monthsLater < 3 {
		t.Errorf("most deliveries of an event: %d, at once: %d, months later: %d", most, atOnce, monthsLater)
	}
}

func checkOvertaking(t *testing.T, deliveries []Delivery) {
	t.Helper()
	newest := map[string]time.Time{}
	overtaken := 0
	for _, d := range deliveries {
		if d.CreatedAt.Before(newest[d.Entity]) {
			overtaken++
		} else {
			newest[d.Entity] = d.CreatedAt
		}
	}
	if overtaken < 10 {
		t.Errorf("%d deliveries were overtaken by a later event of their entity", overtaken)
	}
}

// Deduplicating by the delivery's id deduplicates nothing.
func TestWorker_ClaimsByEventAndNeverByDelivery(t *testing.T) {
	deliveries, err := load("")
	if err != nil {
		t.Fatal(err)
	}
	w := &worker{run: "run-1", name: "worker-1"}
	keys := map[string]string{} // claim → event
	credits, changes := split(deliveries)
	for _, d := range changes {
		c, err := d.change()
		if err != nil {
			t.Fatal(err)
		}
		if claim := w.orderedClaim(d, c); claim.Key != d.EventID || claim.Order.Entity != d.Entity || claim.Order.State == "" || claim.Namespace != d.Namespace {
			t.Errorf("claim %+v", claim)
		}
	}
	for _, d := range credits {
		claim := w.claim(d)
		if claim.KeyParts != nil || claim.RequestID != "" || strings.Contains(claim.Key, d.DeliveryID) {
			t.Errorf("claim %+v", claim)
		}
		other := d
		other.DeliveryID, other.DeliveredAt = "whd_other", d.DeliveredAt.AddDate(0, 6, 0)
		again := w.claim(other)
		if again.Namespace != claim.Namespace || again.Key != claim.Key || !bytes.Equal(again.Fingerprint, claim.Fingerprint) {
			t.Errorf("another delivery of %s is claimed as %+v", d.event(), again)
		}
		if event, known := keys[claim.Namespace+" "+claim.Key]; known && event != d.event() {
			t.Errorf("%s and %s share a claim", event, d.event())
		}
		keys[claim.Namespace+" "+claim.Key] = d.event()
	}
	if len(keys) != 150 {
		t.Errorf("%d claims for 150 events", len(keys))
	}
}
