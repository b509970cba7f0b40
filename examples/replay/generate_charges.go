package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"
)

// charges is what the senders of charges make of n charges: their events are
// late, out of order, within one second of each other, or not sent at all.
func (g *generator) charges(n int) []Delivery {
	var deliveries []Delivery
	for i := range n {
		g.now = g.now.Add(g.between(time.Minute, 20*time.Minute))
		sender := []string{countingSender, stampingSender}[i%2]
		for _, event := range g.life(sender, fmt.Sprintf("ch_%012x", g.Uint64()>>16)) {
			if event.NeverSent {
				deliveries = append(deliveries, event)
			} else {
				deliveries = append(deliveries, g.deliver(event)...)
			}
		}
	}
	return deliveries
}

// life is every event of one charge, in the order in which they happened. The
// last one is always sent: nothing that arrives could tell that it is missing.
func (g *generator) life(sender, charge string) []Delivery {
	var events []Delivery
	at := g.now
	states := g.states()
	for i, state := range states {
		c := change{Charge: charge, Status: state, Sequence: uint64(i + 1)}
		if sender == stampingSender {
			c.Sequence, c.Created = 0, at.Unix()
		}
		events = append(events, Delivery{
			Namespace:   sender,
			EventID:     fmt.Sprintf("evt_%016x", g.Uint64()),
			Entity:      charge,
			Type:        "charge." + state,
			CreatedAt:   at,
			DeliveredAt: at, // unless it is sent
			Payload:     c.payload(),
			NeverSent:   i < len(states)-1 && g.chance(20),
		})
		at = at.Add(g.pause())
	}
	return events
}

func (c change) payload() json.RawMessage {
	payload, err := json.Marshal(c)
	if err != nil {
		panic(err) // strings and numbers
	}
	return payload
}

// states are those that a charge goes through. While it is pending its due date
// may be moved; it may be paid after it has expired.
func (g *generator) states() []string {
	states := slices.Repeat([]string{"pending"}, 1+g.IntN(3))
	expires, pays := g.chance(35), g.chance(75)
	if expires {
		states = append(states, "expired")
	}
	if pays || len(states) == 1 {
		states = append(states, "paid")
		if g.chance(60) {
			states = append(states, "refunded")
		}
	}
	return states
}

// pause is how long a charge stays in a state.
func (g *generator) pause() time.Duration {
	switch {
	case g.chance(30):
		return g.between(time.Millisecond, 400*time.Millisecond)
	case g.chance(60):
		return g.between(time.Minute, 40*time.Minute)
	}
	return g.between(time.Hour, 14*time.Hour)
}
