package redisstore

import (
	"fmt"
	"strings"

	"github.com/onceward/onceward/server/internal/onceward"
)

// DefaultPrefix is the layout's version. Every prefix starts with it, so that a
// release with another layout never reads these keys.
const DefaultPrefix = "ow1:"

// keys builds every key of the store:
//
//	<prefix>{<partition>}c<name>      the record of a claim
//	<prefix>{<partition>}r<name>      its result
//	<prefix>{<partition>}e<name>      the record of an entity
//	<prefix>{<partition>}h<name>      the hold of a claim on an entity
//	<prefix>{<partition>}progress     index of the claims in progress
//	<prefix>{<partition>}parked       index of the parked ones
//	<prefix>{<partition>}flagged      index of the entities that need reconciling
//	<prefix>{<partition>}log          the decision log
//
// The partition, three hex digits, stands in braces: Redis Cluster hashes only
// what is between them, so one decision's keys share a slot. With the default
// prefix the key of a record is 30 bytes, which costs 32 in Redis's allocator.
type keys struct {
	of *[onceward.Partitions]partitionKeys
}

func checkPrefix(prefix string) error {
	if !strings.HasPrefix(prefix, DefaultPrefix) {
		return fmt.Errorf("must start with %q, the version of the layout", DefaultPrefix)
	}
	if strings.ContainsAny(prefix, "{}") {
		return fmt.Errorf("must not contain braces: they mark the partition")
	}
	return nil
}

// partitionKeys are the keys that all records of a partition share.
type partitionKeys struct{ prefix, progress, parked, flagged, log string }

// newKeys makes what is the same in every call once and for all.
func newKeys(prefix string) keys {
	k := keys{of: new([onceward.Partitions]partitionKeys)}
	for p := range k.of {
		in := fmt.Sprintf("%s{%03x}", prefix, p)
		k.of[p] = partitionKeys{in, in + "progress", in + "parked", in + "flagged", in + "log"}
	}
	return k
}

// claimKeys are the keys of one claim, and of its entity where it has one.
type claimKeys struct {
	name, record, result, progress, parked, log string
	entity                                      *entityKeys
}

func (k keys) claim(id onceward.ClaimID) claimKeys {
	r := id.Record()
	of := &k.of[r.Partition]
	c := claimKeys{
		name:     r.Name,
		record:   of.prefix + "c" + r.Name,
		result:   of.prefix + "r" + r.Name,
		progress: of.progress,
		parked:   of.parked,
		log:      of.log,
	}
	if id.Entity != "" {
		e := k.entity(id.EntityOf())
		c.entity = &e
	}
	return c
}

// call is a run of a verb's script on a claim: in its ordered form, with the keys
// of its entity, where it has one.
func (k *claimKeys) call(sc claimScript) call {
	c := call{script: sc.plain, keys: []string{k.record, k.result, k.progress, k.parked, k.log}}
	if e := k.entity; e != nil {
		c.script, c.keys = sc.ordered, append(c.keys, e.record, e.hold, e.flagged)
	}
	return c
}

// entityKeys are the keys of one entity.
type entityKeys struct{ name, record, hold, flagged, log string }

func (k keys) entity(id onceward.EntityID) entityKeys {
	r := id.Record()
	of := &k.of[r.Partition]
	return entityKeys{
		name:    r.Name,
		record:  of.prefix + "e" + r.Name,
		hold:    of.prefix + "h" + r.Name,
		flagged: of.flagged,
		log:     of.log,
	}
}
