package onceward

import "time"

// The bounds of every field. A value outside is refused, never clamped.
const (
	MaxNameBytes        = 64   // namespace, consumer
	MaxKeyBytes         = 1024 // key, entity
	MaxKeyParts         = 16
	MaxRequestIDBytes   = 128
	MaxOwnerBytes       = 128
	MaxFingerprintBytes = 64
	MaxReasonBytes      = 1024
	MaxStateBytes       = 128
	MaxActorBytes       = 128
	MaxResultTypeBytes  = 128
	MaxResultBytes      = 1 << 20 // the most a policy may allow

	MinLease      = 50 * time.Millisecond
	MaxLease      = 24 * time.Hour
	MinRetention  = time.Second
	MaxRetention  = 10 * 365 * 24 * time.Hour
	MaxRetryAfter = 24 * time.Hour
	MaxWait       = 30 * time.Second

	// MaxToken is the largest fencing token: the integers up to here are exact
	// in a double, which is what Lua and JavaScript have.
	MaxToken = 1<<53 - 1
)
