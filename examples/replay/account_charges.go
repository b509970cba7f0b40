package main

import (
	"bufio"
	"errors"
	"io"

	"github.com/onceward/onceward/client"
)

// accountCharges prints what became of the events of charges. It returns an
// error unless the mirror is what the source says, for every charge, and nothing
// is flagged any more.
func accountCharges(out io.Writer, changes []Delivery, s source, m mirror, t tally, done mending) error {
	equal, err := s.compare(m)
	if err != nil {
		return err
	}
	sent := map[string]bool{}
	for _, d := range made(changes) {
		sent[d.event()] = true
	}
	w := bufio.NewWriter(out)
	row(w, "charges", len(s))
	row(w, "events of charges", len(sent))
	row(w, "  applied", t.count(client.Applied))
	row(w, "  stale", t.count(client.Stale)+t.count(client.AlreadyApplied))
	row(w, "  tied", t.count(client.Tie))
	row(w, "  denied", t.count(client.TransitionDenied))
	row(w, "missing (holes)", done.missing)
	row(w, "charges reconciled", done.reconciled)
	row(w, "charges as the source says", equal)
	if err := w.Flush(); err != nil {
		return err
	}
	if equal != len(s) || done.flagged > 0 {
		return errors.New("not every charge is mirrored as its source says")
	}
	return nil
}

// compare counts the charges whose mirrored state is the source's.
func (s source) compare(m mirror) (equal int, err error) {
	states, err := m.read()
	if err != nil {
		return 0, err
	}
	for charge, last := range s {
		c, err := last.change()
		if err != nil {
			return 0, err
		}
		equal += one(states[charge] == last.reflect(c))
	}
	return equal, nil
}
