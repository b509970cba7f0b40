package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math"
)

// effects is what the ledger says, held against what it should say.
type effects struct {
	events, least, most int
	sum, expected       int64
}

// account prints the balance of the credits. It returns an error unless every
// event was credited exactly once, with its own amount.
func account(out io.Writer, deliveries []Delivery, l ledger, t tally) error {
	credits, err := l.read()
	if err != nil {
		return err
	}
	sent, _ := split(deliveries)
	e, err := weigh(sent, credits)
	if err != nil {
		return err
	}
	if err := printTable(out, deliveries, t, e); err != nil {
		return err
	}
	if e.least != 1 || e.most != 1 || e.sum != e.expected {
		return errors.New("not every event was credited exactly once")
	}
	return nil
}

func weigh(deliveries []Delivery, credits []credit) (effects, error) {
	times := map[string]int{}
	e := effects{least: math.MaxInt}
	for _, d := range deliveries {
		if _, known := times[d.event()]; known {
			continue
		}
		times[d.event()] = 0
		cents, err := d.cents()
		if err != nil {
			return e, err
		}
		e.expected += cents
	}
	e.events = len(times)
	for _, c := range credits {
		times[c.Event]++ // an event that nobody sent counts as well: 1, but the sum is wrong
		e.sum += c.Cents
	}
	for _, n := range times {
		e.least, e.most = min(e.least, n), max(e.most, n)
	}
	return e, nil
}

func printTable(out io.Writer, deliveries []Delivery, t tally, e effects) error {
	w := bufio.NewWriter(out)
	for _, death := range t.deaths {
		fmt.Fprintln(w, death)
	}
	row(w, "events", e.events)
	row(w, "deliveries in the file", len(made(deliveries)))
	row(w, "deliveries made", t.delivered)
	for _, kind := range []lostReply{lostClaim, lostComplete, lostAck} {
		row(w, "replies lost: "+string(kind), t.lost[kind])
	}
	row(w, "workers killed", len(t.deaths))
	row(w, "claims", t.claims)
	row(w, "re-entries", t.reentries)
	row(w, "completions found recorded", t.settled)
	row(w, "duplicates answered", t.duplicates)
	row(w, "in progress answered", t.inProgress)
	row(w, "errors answered", t.errors)
	row(w, "take-overs", t.takeovers)
	row(w, "credits found on take-over", t.found)
	row(w, "effects per event, min", e.least)
	row(w, "effects per event, max", e.most)
	row(w, "sum in ledger, cents", e.sum)
	row(w, "sum expected, cents", e.expected)
	if t.lastError != "" {
		fmt.Fprintln(w, "last error:", t.lastError)
	}
	return w.Flush()
}

func row(w io.Writer, name string, value any) { fmt.Fprintf(w, "%-28s %12v\n", name, value) }
