package main

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/onceward/onceward/client"
)

// The senders of charges. Their policies are in policies.yaml.
const (
	countingSender = "pix-live/charges"    // numbers the changes of a charge
	stampingSender = "stripe-live/charges" // stamps them with whole seconds
)

// change is what an event of a charge says: the state that it is in now, and
// when that was, as its sender counts.
type change struct {
	Charge   string `json:"charge"`
	Status   string `json:"status"`
	Sequence uint64 `json:"sequence,omitempty"`
	Created  int64  `json:"created,omitempty"` // Unix seconds
}

// isChange tells the events of charges from those that are credited.
func (d Delivery) isChange() bool {
	return d.Namespace == countingSender || d.Namespace == stampingSender
}

func (d Delivery) change() (change, error) {
	var c change
	if err := json.Unmarshal(d.Payload, &c); err != nil {
		return c, fmt.Errorf("payload of %s: %w", d.event(), err)
	}
	return c, nil
}

// version is the event's place in the order of its charge.
func (c change) version() *client.Version {
	if c.Sequence > 0 {
		return client.Sequence(c.Sequence)
	}
	return client.Timestamp(time.Unix(c.Created, 0))
}

// split separates what is delivered: credits, and changes of charges, of which
// some were never sent.
func split(deliveries []Delivery) (credits, changes []Delivery) {
	for _, d := range deliveries {
		if d.isChange() {
			changes = append(changes, d)
		} else {
			credits = append(credits, d)
		}
	}
	return credits, changes
}
