package main

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"
)

// maxAttempts is how often a sender delivers one event.
const maxAttempts = 6

// schedule is how long the sender waits before each repeat.
var schedule = []time.Duration{5 * time.Second, time.Minute, 10 * time.Minute, 2 * time.Hour, 13 * time.Hour}

// generator makes up what senders of webhooks do. The same seed makes the same
// deliveries.
type generator struct {
	*rand.Rand
	now       time.Time
	overtaken int // percent of the events that arrive after later ones
	entities  []entity
	events    []Delivery
}

// newGenerator makes one whose events start on a Monday morning.
func newGenerator(seed, stream uint64, overtaken int) *generator {
	return &generator{
		Rand:      rand.New(rand.NewPCG(seed, stream)),
		now:       time.Date(2026, 1, 5, 9, 0, 0, 0, time.UTC),
		overtaken: overtaken,
	}
}

// entity is a charge or an order that is paid in parts, one event each.
type entity struct {
	namespace, id, kind string
}

// generate makes the deliveries of so many events that are credited, and of one
// charge for every five of them.
func generate(events int, seed uint64) []Delivery {
	g := newGenerator(seed, 0, 12)
	var deliveries []Delivery
	for range events {
		deliveries = append(deliveries, g.deliver(g.event())...)
	}
	deliveries = append(deliveries, newGenerator(seed, 2, 35).charges(events/5)...)
	slices.SortStableFunc(deliveries, func(a, b Delivery) int { return a.DeliveredAt.Compare(b.DeliveredAt) })
	return deliveries
}

// chance is true in percent of all cases.
func (g *generator) chance(percent int) bool { return g.IntN(100) < percent }

// between is a duration of whole milliseconds.
func (g *generator) between(low, high time.Duration) time.Duration {
	return (low + time.Duration(g.Int64N(int64(high-low)))).Truncate(time.Millisecond)
}

// event is a new event, as a delivery that was not made yet.
func (g *generator) event() Delivery {
	g.now = g.now.Add(g.between(time.Second, 40*time.Second))
	e := g.entity()
	d := Delivery{
		Namespace: e.namespace,
		EventID:   g.eventID(e),
		Entity:    e.id,
		Type:      e.kind,
		CreatedAt: g.now,
		Payload:   g.payload(e),
	}
	g.events = append(g.events, d)
	return d
}

// entity is often one that had an event before, so that they can overtake each
// other.
func (g *generator) entity() entity {
	if len(g.entities) > 0 && g.chance(40) {
		return g.entities[g.IntN(len(g.entities))]
	}
	e := entity{"stripe-live", fmt.Sprintf("ch_%012x", g.Uint64()>>16), "charge.captured"}
	if g.chance(40) {
		e = entity{"gubee/orders", fmt.Sprintf("order-%06d", g.IntN(1e6)), "order.installment_paid"}
	}
	g.entities = append(g.entities, e)
	return e
}

// eventID is new in its namespace; now and then another sender has used it.
func (g *generator) eventID(e entity) string {
	if len(g.events) > 0 && g.chance(5) {
		if other := g.events[g.IntN(len(g.events))]; other.Namespace != e.namespace && !g.used(e.namespace, other.EventID) {
			return other.EventID
		}
	}
	return fmt.Sprintf("evt_%016x", g.Uint64())
}

func (g *generator) used(namespace, eventID string) bool {
	return slices.ContainsFunc(g.events, func(d Delivery) bool { return d.Namespace == namespace && d.EventID == eventID })
}

func (g *generator) payload(e entity) json.RawMessage {
	cents := 100 + g.IntN(50_000)
	if e.namespace == "stripe-live" {
		return json.RawMessage(fmt.Sprintf(`{"charge":%q,"amount":%d,"currency":"brl"}`, e.id, cents))
	}
	return json.RawMessage(fmt.Sprintf(`{"order":%q,"amount":"%d","currency":"BRL"}`, e.id, cents))
}

// deliver is every delivery of one event, the first included.
func (g *generator) deliver(event Delivery) []Delivery {
	at := event.CreatedAt.Add(g.between(50*time.Millisecond, 3*time.Second))
	if g.chance(g.overtaken) { // by later events of its entity
		at = at.Add(g.between(time.Minute, 14*time.Hour))
	}
	deliveries := []Delivery{g.attempt(event, at)}
	for len(deliveries) < maxAttempts && g.chance(48) {
		at = g.repeat(at, len(deliveries))
		deliveries = append(deliveries, g.attempt(event, at))
	}
	g.lose(deliveries)
	return deliveries
}

// repeat is when an event comes again: at once from a second queue or an
// impatient proxy, later as the sender's own retry, or months later by hand.
func (g *generator) repeat(last time.Time, attempt int) time.Time {
	switch {
	case g.chance(40):
		return last.Add(g.between(0, 4*time.Millisecond))
	case g.chance(85):
		return last.Add(schedule[attempt-1] + g.between(0, time.Second))
	default:
		return last.Add(g.between(30*24*time.Hour, 200*24*time.Hour))
	}
}

func (g *generator) attempt(event Delivery, at time.Time) Delivery {
	event.DeliveryID = fmt.Sprintf("whd_%016x", g.Uint64())
	event.DeliveredAt = at
	return event
}

// lose lets some replies get lost: any of the three while an event is handled
// for the first time, later only the answer to the sender.
func (g *generator) lose(deliveries []Delivery) {
	kinds := []lostReply{lostClaim, lostComplete, lostAck}
	for i := range deliveries {
		if g.chance(25) {
			deliveries[i].Lost = kinds[g.IntN(3)]
		}
		if i > 0 && deliveries[i].Lost != "" {
			deliveries[i].Lost = lostAck
		}
	}
}
