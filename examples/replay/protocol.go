package main

import (
	"time"

	"github.com/onceward/onceward/client"
)

// The coordinator and a worker talk in JSON lines over the worker's standard
// input and output: the coordinator sends a delivery, the worker reports each
// point it reaches, and waits there for an empty order, or for its death.

// order is what the coordinator sends: a delivery to handle, or, without one,
// the permission to go on.
type order struct {
	Delivery *Delivery `json:"delivery,omitempty"`
}

// point is a place in a worker's work.
type point string

const (
	pointClaimed  point = "claimed"  // the event is ours, nothing was done yet
	pointActed    point = "acted"    // the effect has happened, Onceward does not know
	pointRecorded point = "recorded" // Onceward knows, the sender does not
	pointAnswered point = "answered" // the answer to the sender; the worker is free
)

// answer is a receiver's answer to a sender.
type answer string

const (
	answerDone       answer = "done"        // 200
	answerDuplicate  answer = "duplicate"   // 200 too: a repeat is no error
	answerInProgress answer = "in progress" // 503 with Retry-After: somebody else has it
	answerError      answer = "error"       // 500
)

// report is what a worker says when it reaches a point. The facts are those
// since its last report.
type report struct {
	At         point               `json:"at"`
	Answer     answer              `json:"answer,omitempty"`
	Order      client.ApplyOutcome `json:"order,omitempty"` // why a charge's event was not applied
	RetryAfter time.Duration       `json:"retry_after,omitempty"`
	Error      string              `json:"error,omitempty"`

	Lost      []lostReply `json:"lost,omitempty"`       // replies that did not arrive
	Reentries int         `json:"reentries,omitempty"`  // claims that found themselves held already
	Settled   int         `json:"settled,omitempty"`    // completions that found themselves recorded already
	TakenOver bool        `json:"taken_over,omitempty"` // the claim is a dead attempt's
	Found     bool        `json:"found,omitempty"`      // the credit was there already
}
