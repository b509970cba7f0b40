package redisstore

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/onceward/onceward/server/internal/onceward"
	"github.com/onceward/onceward/server/internal/redistest"
)

// field is one that packer writes and reader reads.
type field struct {
	write func(*packer)
	same  func(*reader) bool
}

// fields draw one field of each kind, with lengths up to their bounds.
var fields = map[string]func(*rapid.T) field{
	"byte": func(t *rapid.T) field {
		n := rapid.IntRange(0, 255).Draw(t, "n")
		return field{func(p *packer) { p.byte(n) }, func(r *reader) bool { return r.uint(1) == uint64(n) }}
	},
	"bool": func(t *rapid.T) field {
		b := rapid.Bool().Draw(t, "b")
		return field{func(p *packer) { p.bool(b) }, func(r *reader) bool { return (r.uint(1) == 1) == b }}
	},
	"uint32": func(t *rapid.T) field {
		n := rapid.Uint32().Draw(t, "n")
		return field{func(p *packer) { p.uint32(int(n)) }, func(r *reader) bool { return r.uint(4) == uint64(n) }}
	},
	"token": func(t *rapid.T) field {
		n := rapid.Int64Range(0, onceward.MaxToken).Draw(t, "n")
		return field{func(p *packer) { p.token(n) }, func(r *reader) bool { return r.uint(7) == uint64(n) }}
	},
	"millis": func(t *rapid.T) field {
		n := rapid.Int64Range(0, onceward.MaxRetention.Milliseconds()).Draw(t, "n")
		return field{func(p *packer) { p.millis(time.Duration(n) * time.Millisecond) }, func(r *reader) bool { return r.uint(6) == uint64(n) }}
	},
	"text8":  text(1<<8-1, 1, (*packer).text8),
	"text16": text(1<<16-1, 2, (*packer).text16),
	"text32": text(1<<17, 4, (*packer).text32),
}

func text(most, lengthBytes int, write func(*packer, string)) func(*rapid.T) field {
	return func(t *rapid.T) field {
		n := rapid.OneOf(rapid.IntRange(0, most), rapid.SampledFrom([]int{0, most - 1, most})).Draw(t, "length")
		s := strings.Repeat(rapid.StringN(1, 3, -1).Draw(t, "text"), n)[:n]
		return field{func(p *packer) { write(p, s) }, func(r *reader) bool { return r.text(lengthBytes) == s }}
	}
}

func TestWhatIsPackedIsRead(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		kinds := rapid.SliceOfN(rapid.SampledFrom([]string{"byte", "bool", "uint32", "token", "millis", "text8", "text16", "text32"}), 0, 12).Draw(t, "kinds")
		p := newPacker()
		var written []field
		for _, kind := range kinds {
			f := fields[kind](t)
			f.write(&p)
			written = append(written, f)
		}
		r := reader{left: string(p.bytes)}
		for i, f := range written {
			if !f.same(&r) || r.short {
				t.Fatalf("field %d, %s, is another", i, kinds[i])
			}
		}
		if r.left != "" {
			t.Fatalf("%d bytes are left", len(r.left))
		}
		for cut := range min(len(p.bytes), 64) { // what is cut off is never read as whole
			r := reader{left: string(p.bytes[:cut])}
			for _, f := range written {
				f.same(&r)
			}
			if !r.short {
				t.Fatalf("%d bytes of %d are enough", cut, len(p.bytes))
			}
		}
	})
}

// FuzzAnyReplyIsReadOrRefused feeds the decoders bytes that no script sends.
func FuzzAnyReplyIsReadOrRefused(f *testing.F) {
	f.Add("")
	f.Add("\x03\x00" + strings.Repeat("\xff", 80))
	f.Add(strings.Repeat("\x01", 60))
	f.Fuzz(func(t *testing.T, text string) {
		new := func() *reply { return &reply{script: "verb", reader: reader{left: text}} }
		new().claimVerdict()
		new().entity()
		r := new()
		r.settleOutcome()
		r.end()
		if duplicateForAll(text) && len(text) < 2 {
			t.Error("less than a reply is an answer to all")
		}
	})
}

// TestTheFastWayWritesTheSameRecord claims one fresh key by the fast way, and one by
// the way of all others, which audit: all takes: but for token and time the records,
// their life and the index must be the same.
func TestTheFastWayWritesTheSameRecord(t *testing.T) {
	r := redistest.Start(t)
	c := r.Client()
	for name, readable := range map[string]bool{"readable": true, "hashed": false} {
		var written []string
		for _, audit := range []onceward.Audit{onceward.AuditExceptions, onceward.AuditAll} {
			r.Do("FLUSHALL")
			s, err := Open(Standalone, r.URL(), DefaultPrefix)
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			policies := onceward.DefaultPolicies()
			policies.Default.Audit, policies.Default.ReadableKeys = audit, readable
			id := onceward.ClaimID{Namespace: "n", Consumer: "c", Key: "k"}
			v, err := onceward.NewService(s, policies).CheckAndClaim(t.Context(), &onceward.CheckAndClaimRequest{
				ClaimID: id, RequestID: "r", Owner: "owner", Fingerprint: "print", Lease: onceward.Of(time.Hour), Retention: onceward.Of(24 * time.Hour),
			})
			if err != nil || v.Outcome != onceward.Claimed {
				t.Fatalf("%v, %v", v.Outcome, err)
			}
			k := s.keys.claim(id)
			record, err := c.Get(context.Background(), k.record).Bytes()
			if err != nil {
				t.Fatal(err)
			}
			for i := 3; i < 3+7; i++ { // token
				record[i] = 0
			}
			for i := 13; i < 13+6; i++ { // first claimed
				record[i] = 0
			}
			life := func(key string) time.Duration { return c.PTTL(context.Background(), key).Val().Round(time.Hour) }
			after := func(at time.Time) time.Duration { return at.Sub(v.FirstClaimedAt).Round(time.Hour) }
			written = append(written, fmt.Sprintf("%q for %s, index of %d for %s, %v until %s, then %s", record, life(k.record),
				c.ZCard(context.Background(), k.progress).Val(), life(k.progress), v.Outcome, after(v.LeaseExpiresAt), after(v.RetainedUntil)))
		}
		if written[0] != written[1] {
			t.Errorf("%s: %s\nthe other way: %s", name, written[0], written[1])
		}
	}
}
