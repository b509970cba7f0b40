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
//	<prefix>{<partition>}progress     index of the claims in progress
//	<prefix>{<partition>}parked       index of the parked ones
//
// The partition, three hex digits, stands in braces: Redis Cluster hashes only
// what is between them, so one decision's keys share a slot. With the default
// prefix the key of a record is 31 bytes, which costs 32 in Redis's allocator.
type keys struct{ prefix string }

func newKeys(prefix string) (keys, error) {
	if !strings.HasPrefix(prefix, DefaultPrefix) {
		return keys{}, fmt.Errorf("the key prefix must start with %q, the version of the layout", DefaultPrefix)
	}
	if strings.ContainsAny(prefix, "{}") {
		return keys{}, fmt.Errorf("the key prefix must not contain braces: they mark the partition")
	}
	return keys{prefix}, nil
}

func (k keys) partition(p int) string {
	const hex = "0123456789abcdef"
	return k.prefix + "{" + string([]byte{hex[p>>8&15], hex[p>>4&15], hex[p&15]}) + "}"
}

// claimKeys are the keys of one claim.
type claimKeys struct{ name, record, result, progress, parked string }

func (k keys) claim(id onceward.ClaimID) claimKeys {
	r := id.Record()
	p := k.partition(r.Partition)
	return claimKeys{
		name:     r.Name,
		record:   p + "c" + r.Name,
		result:   p + "r" + r.Name,
		progress: p + "progress",
		parked:   p + "parked",
	}
}
