package redisstore

import (
	"fmt"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/onceward/onceward/server/internal/onceward"
)

// script is one verb's Lua.
type script struct {
	name string
	text string
	hash any // of the text, as an argument to EVALSHA: converted once
	lua  *redis.Script
}

// newScript makes a script of the texts that it consists of, in their order.
func newScript(name string, texts ...string) *script {
	text := strings.Join(append([]string{constantsLua}, texts...), "\n")
	lua := redis.NewScript(text)
	return &script{name: name, text: text, hash: lua.Hash(), lua: lua}
}

// claimScript is the script of a verb on claims, in two forms: what concerns
// entities takes time even where it is not used.
type claimScript struct{ plain, ordered *script }

func newClaimScript(name string, texts ...string) claimScript {
	return claimScript{
		plain:   newScript(name, append([]string{decisionLogLua, claimRecordLua}, texts...)...),
		ordered: newScript(name, append([]string{decisionLogLua, claimRecordLua, entityRecordLua}, texts...)...),
	}
}

// reply is what a script returned, read field by field, strictly: the first one
// that is not what it must be makes the whole reply an error.
type reply struct {
	script string
	reader
	err error
}

func (r *reply) int(bytes int) int64 { return int64(r.uint(bytes)) }

func (r *reply) bool() bool { return r.enum(0, 1) == 1 }

// enum is a byte within bounds.
func (r *reply) enum(least, most int64) int64 {
	n := r.int(1)
	if n < least || n > most {
		r.fail(fmt.Errorf("%d is not from %d to %d", n, least, most))
		return least
	}
	return n
}

// unixMillis is an instant, or the zero Time for 0.
func (r *reply) unixMillis() time.Time { return millisOrZero(r.uint(6)) }

func (r *reply) unixMicros() time.Time { return time.UnixMicro(r.int(7)) }

func (r *reply) millis() time.Duration { return time.Duration(r.int(6)) * time.Millisecond }

// signedMillis may be below 0: a lease that has ended.
func (r *reply) signedMillis() time.Duration { return time.Duration(r.int(8)) * time.Millisecond }

func (r *reply) state() onceward.State {
	return onceward.State(r.enum(int64(onceward.Absent), int64(onceward.Expired)))
}

func (r *reply) fail(err error) {
	if r.err == nil {
		r.err = fmt.Errorf("reply of %s: %w", r.script, err)
	}
}

// end is the error of a reply that has been read.
func (r *reply) end() error {
	if r.short {
		r.fail(fmt.Errorf("is too short"))
	} else if len(r.left) > 0 {
		r.fail(fmt.Errorf("has %d bytes too many", len(r.left)))
	}
	return r.err
}
