package main

import "math/rand/v2"

// lastWords says where in its work a worker was killed.
var lastWords = map[point]string{
	pointClaimed:  "after the claim, before the effect",
	pointActed:    "after the effect, before it was recorded",
	pointRecorded: "after the effect was recorded, before the sender was answered",
}

// plan chooses the events whose worker will die, and where: in turn one that is
// credited and one of a charge. The first deaths of each cover the three places,
// the others are drawn.
func plan(deliveries []Delivery, deaths int, seed uint64) map[string]point {
	random := rand.New(rand.NewPCG(seed, 1))
	places := []point{pointActed, pointClaimed, pointRecorded}
	doom := map[string]point{}
	candidates := mortal(deliveries)
	for _, events := range candidates {
		random.Shuffle(len(events), func(i, j int) { events[i], events[j] = events[j], events[i] })
	}
	for i := 0; len(doom) < deaths && len(candidates[0])+len(candidates[1]) > 0; i++ {
		events := candidates[i%2]
		if len(events) == 0 {
			continue
		}
		place := places[random.IntN(len(places))]
		if n := i / 2; n < len(places) {
			place = places[n]
		}
		doom[events[0]] = place
		candidates[i%2] = events[1:]
	}
	return doom
}

// mortal lists the events that somebody is certain to work on: those that are
// credited, and the newest of each charge whose sender counts. Others may be
// overtaken.
func mortal(deliveries []Delivery) [2][]string {
	credits, changes := split(deliveries)
	var out [2][]string
	seen := map[string]bool{}
	for _, d := range credits {
		if !seen[d.event()] {
			seen[d.event()] = true
			out[0] = append(out[0], d.event())
		}
	}
	newest := newSource(changes)
	for _, d := range changes {
		if d.Namespace == countingSender && !seen[d.charge()] {
			seen[d.charge()] = true
			out[1] = append(out[1], newest[d.charge()].event())
		}
	}
	return out
}
