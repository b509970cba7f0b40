package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math"
)

// tally counts what the workers reported.
type tally struct {
	delivered                      int
	claims, reentries, settled     int
	takeovers, found               int
	duplicates, inProgress, errors int
	lost                           map[lostReply]int
	deaths                         []string
	lastError                      string
}

func (t *tally) add(r report) {
	t.reentries += r.Reentries
	t.settled += r.Settled
	for _, kind := range r.Lost {
		t.lost[kind]++
	}
	switch r.At {
	case pointClaimed:
		t.claims++
		t.takeovers += one(r.TakenOver)
	case pointCredited:
		t.found += one(r.Found)
	case pointAnswered:
		t.answered(r)
	}
}

func (t *tally) answered(r report) {
	switch r.Answer {
	case answerDuplicate:
		t.duplicates++
	case answerInProgress:
		t.inProgress++
	case answerError:
		t.errors++
		t.lastError = r.Error
	}
}

func one(b bool) int {
	if b {
		return 1
	}
	return 0
}

// effects is what the ledger says, held against what it should say.
type effects struct {
	events, least, most int
	sum, expected       int64
}

// account prints the balance. It returns an error unless every event was
// credited exactly once, with its own amount.
func account(out io.Writer, deliveries []Delivery, l ledger, t tally) error {
	credits, err := l.read()
	if err != nil {
		return err
	}
	e, err := weigh(deliveries, credits)
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
	row := func(name string, value any) { fmt.Fprintf(w, "%-28s %12v\n", name, value) }
	for _, death := range t.deaths {
		fmt.Fprintln(w, death)
	}
	row("events", e.events)
	row("deliveries in the file", len(deliveries))
	row("deliveries made", t.delivered)
	for _, kind := range []lostReply{lostClaim, lostComplete, lostAck} {
		row("replies lost: "+string(kind), t.lost[kind])
	}
	row("workers killed", len(t.deaths))
	row("claims", t.claims)
	row("re-entries", t.reentries)
	row("completions found recorded", t.settled)
	row("duplicates answered", t.duplicates)
	row("in progress answered", t.inProgress)
	row("errors answered", t.errors)
	row("take-overs", t.takeovers)
	row("credits found on take-over", t.found)
	row("effects per event, min", e.least)
	row("effects per event, max", e.most)
	row("sum in ledger, cents", e.sum)
	row("sum expected, cents", e.expected)
	if t.lastError != "" {
		fmt.Fprintln(w, "last error:", t.lastError)
	}
	return w.Flush()
}
