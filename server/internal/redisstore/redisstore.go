// Package redisstore is the store on Redis: one Lua script per verb, beside the
// Go that calls it. It is the only importer of go-redis.
package redisstore

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/onceward/onceward/server/internal/onceward"
)

const (
	// attemptTimeout bounds the reading and the writing of one attempt.
	attemptTimeout = 250 * time.Millisecond

	// exchangeTimeout bounds one exchange of many calls.
	exchangeTimeout = attemptTimeout + 50*time.Millisecond

	// callTimeout bounds one call, its waiting and its resends counted.
	callTimeout = 1500 * time.Millisecond

	// connections are how many a node gets, unless the URL says otherwise: for the
	// exchanges, and for what goes alone.
	connections = 32

	// resp is the version of Redis's protocol, unless the URL says otherwise. The
	// third has the driver look for notifications before every reply.
	resp = 2

	// waitTimeout bounds the wait for replicas. Redis looks at such timeouts ten
	// times a second, so WAIT may take 100 ms longer; within attemptTimeout it
	// must be over, or the driver sends the script again.
	waitTimeout = 100 * time.Millisecond

	// resends is how often the driver repeats a command after a broken
	// connection or a timeout. A script whose reply was lost then runs twice,
	// and finds its own claim by the request's identity.
	resends = 3
)

// What the scripts share, see the files.
var (
	//go:embed constants.lua
	constantsLua string

	//go:embed decision_log.lua
	decisionLogLua string

	//go:embed claim_record.lua
	claimRecordLua string

	//go:embed entity_record.lua
	entityRecordLua string

	//go:embed claim_reply.lua
	claimReplyLua string

	//go:embed settlement.lua
	settlementLua string
)

// Store is an onceward.Store on Redis.
type Store struct {
	client redis.UniversalClient
	keys   keys

	mu        sync.Mutex
	pipelines map[lane]*pipeline
}

var _ onceward.Store = (*Store)(nil)

// Mode is how Redis is deployed.
type Mode string

// The modes.
const (
	Standalone Mode = "standalone"
	Sentinel   Mode = "sentinel"
	Cluster    Mode = "cluster"
)

// Open returns a store on the Redis at url, in go-redis's URL forms. It does not
// connect: a Redis that is away is an error of each call, not of the start.
// Whatever the URL says, replicas are never read.
func Open(mode Mode, url, prefix string) (*Store, error) {
	if err := Check(mode, prefix); err != nil {
		return nil, err
	}
	client, err := dial(mode, url)
	if err != nil {
		return nil, err
	}
	return &Store{client: client, keys: newKeys(prefix), pipelines: map[lane]*pipeline{}}, nil
}

// LogTo sends what the driver itself has to say to log. It speaks of connections,
// never of keys, and is one for the whole process.
func LogTo(log *slog.Logger) { redis.SetLogger(driverLog{log}) }

type driverLog struct{ *slog.Logger }

func (l driverLog) Printf(ctx context.Context, format string, v ...any) {
	l.WarnContext(ctx, "redis driver", "says", fmt.Sprintf(format, v...))
}

// Check refuses a mode or a prefix that Open would refuse, without a URL.
func Check(mode Mode, prefix string) error {
	if mode != Standalone && mode != Sentinel && mode != Cluster {
		return fmt.Errorf("-redis-mode is %q, must be %s, %s or %s", mode, Standalone, Sentinel, Cluster)
	}
	if err := checkPrefix(prefix); err != nil {
		return fmt.Errorf("-redis-prefix: %w", err)
	}
	return nil
}

func dial(mode Mode, url string) (redis.UniversalClient, error) {
	switch mode {
	case Standalone:
		o, err := redis.ParseURL(url)
		if err != nil {
			return nil, badURL(err)
		}
		o.ContextTimeoutEnabled, o.MaxRetries = true, resends
		bound(&o.DialTimeout, &o.ReadTimeout, &o.WriteTimeout)
		o.PoolSize, o.Protocol = cmp.Or(o.PoolSize, connections), cmp.Or(o.Protocol, resp)
		return redis.NewClient(o), nil
	case Sentinel:
		o, err := redis.ParseFailoverURL(url)
		if err != nil {
			return nil, badURL(err)
		}
		o.ContextTimeoutEnabled, o.MaxRetries = true, resends
		o.ReplicaOnly, o.RouteByLatency, o.RouteRandomly = false, false, false
		bound(&o.DialTimeout, &o.ReadTimeout, &o.WriteTimeout)
		o.PoolSize, o.Protocol = cmp.Or(o.PoolSize, connections), cmp.Or(o.Protocol, resp)
		return redis.NewFailoverClient(o), nil
	}
	o, err := redis.ParseClusterURL(url)
	if err != nil {
		return nil, badURL(err)
	}
	o.ContextTimeoutEnabled, o.MaxRetries = true, resends
	o.ReadOnly, o.RouteByLatency, o.RouteRandomly = false, false, false
	bound(&o.DialTimeout, &o.ReadTimeout, &o.WriteTimeout)
	o.PoolSize, o.Protocol = cmp.Or(o.PoolSize, connections), cmp.Or(o.Protocol, resp)
	return redis.NewClusterClient(o), nil
}

// badURL keeps the password of a URL out of the error.
func badURL(err error) error {
	return fmt.Errorf("-redis-url cannot be read: %s", strings.SplitN(err.Error(), `"`, 2)[0])
}

// bound sets the timeouts that the URL leaves open.
func bound(timeouts ...*time.Duration) {
	for _, t := range timeouts {
		if *t == 0 {
			*t = attemptTimeout
		}
	}
}

// Close closes the connections.
func (s *Store) Close() error { return s.client.Close() }

// refusals are the errors that scripts give in the domain's own words.
var refusals = map[string]func() error{
	"EFFECT_STARTED":        onceward.EffectStarted,
	"VERSION_KIND_MISMATCH": onceward.KindMismatch,
	"CLAIM_NOT_FOUND":       onceward.ClaimNotFound,
	"CLAIM_HELD":            onceward.ClaimHeld,
	"CLAIM_SETTLED":         onceward.ClaimSettled,
}

// failure turns what Redis or the driver said into one of the domain's errors.
// Its text may hold keys and arguments, so it goes no further than the log.
func failure(ctx context.Context, verb string, err error) error {
	if known := (*onceward.Error)(nil); errors.As(err, &known) {
		return err
	}
	var said redis.Error
	if errors.As(err, &said) {
		switch word, _, _ := strings.Cut(said.Error(), " "); {
		case word == "RECORD_UNREADABLE", strings.Contains(said.Error(), "WRONGTYPE"):
			return onceward.Unreadable(fmt.Errorf("%s: %w", verb, err))
		case refusals[word] != nil:
			return refusals[word]()
		case word == "OOM", strings.Contains(said.Error(), "OOM command not allowed"):
			return &onceward.Error{Reason: onceward.ReasonStoreFull, Message: "the store is full and takes no more writes; nothing was changed", RetryAfter: 5 * time.Second, Cause: err}
		}
	}
	return onceward.Unavailable(ctx, fmt.Errorf("%s: %w", verb, err))
}
