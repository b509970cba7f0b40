package main

import "github.com/onceward/onceward/client"

// tally counts what the workers reported.
type tally struct {
	delivered                      int
	claims, reentries, settled     int
	takeovers, found               int
	duplicates, inProgress, errors int
	lost                           map[lostReply]int
	verdicts                       map[string]client.ApplyOutcome // on the events of charges
	deaths                         []string
	lastError                      string
}

func newTally() tally {
	return tally{lost: map[lostReply]int{}, verdicts: map[string]client.ApplyOutcome{}}
}

func (t *tally) add(d Delivery, r report) {
	t.reentries += r.Reentries
	t.settled += r.Settled
	for _, kind := range r.Lost {
		t.lost[kind]++
	}
	switch r.At {
	case pointClaimed:
		t.claims++
		t.takeovers += one(r.TakenOver)
	case pointActed:
		t.found += one(r.Found)
	case pointAnswered:
		t.answered(r)
		if d.isChange() {
			t.judged(d, r)
		}
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

// judged remembers an event's verdict. An event that was refused may be applied
// when it comes again, and one that was no match for another may be overtaken:
// what says most about it stays.
func (t *tally) judged(d Delivery, r report) {
	verdict := r.Order
	switch {
	case r.Answer == answerDuplicate, r.Answer == answerDone && r.Order == 0:
		verdict = client.Applied
	case r.Answer != answerDone:
		return
	}
	if before, known := t.verdicts[d.event()]; !known || weight[verdict] > weight[before] {
		t.verdicts[d.event()] = verdict
	}
}

var weight = map[client.ApplyOutcome]int{client.Applied: 3, client.TransitionDenied: 2, client.Tie: 1}

// count is how many events of charges got the verdict.
func (t *tally) count(verdict client.ApplyOutcome) (n int) {
	for _, v := range t.verdicts {
		n += one(v == verdict)
	}
	return n
}

func one(b bool) int {
	if b {
		return 1
	}
	return 0
}
