package onceward

import "time"

// Policy is how one namespace behaves. Everything has a default.
type Policy struct {
	Lease             time.Duration // of a claim that asks for none
	Retention         time.Duration // how long a finished claim is remembered
	MaxRetention      time.Duration // the longest a request may ask for
	ResultRetention   time.Duration // how long a stored result is kept; yields to a shorter retention
	MaxResultBytes    int
	MaxAttempts       int // 0: no limit
	AllowFinal        bool
	RetryHorizon      time.Duration // how long the sender keeps retrying
	ReadableKeys      bool          // keep the raw key while a claim is open, so that people can read lists
	OnStartedTakeover OnStartedTakeover
	OnStoreDown       OnStoreDown
	MinReplicas       int // replicas that must confirm a write before it is acknowledged
	Routing           Routing
	Shadow            bool
	Audit             Audit
	Ordering          Ordering
}

// Ordering is how a namespace treats the versions of its entities.
type Ordering struct {
	Gap           Gap
	First         *uint64       // the sequence an entity starts with; nil: any
	Retention     time.Duration // of a watermark; 0: never forgotten
	MaxFutureSkew time.Duration
	Transitions   map[string][]string // which states may follow which; empty: all
}

// OnStartedTakeover is what happens when a lease ran out after the effect had
// started.
type OnStartedTakeover string

const (
	TakeoverRetry     OnStartedTakeover = "retry"     // hand the claim on and say so
	TakeoverReconcile OnStartedTakeover = "reconcile" // hand it to nobody: NEEDS_RECONCILE
)

// OnStoreDown is what a namespace wants while the store cannot be asked.
type OnStoreDown string

const (
	StoreDownClosed OnStoreDown = "closed" // an error
	StoreDownOpen   OnStoreDown = "open"   // permission, marked as degraded
)

// Routing is what decides where a claim lives.
type Routing string

const (
	RouteByKey    Routing = "key"
	RouteByEntity Routing = "entity"
)

// Gap is what happens to a sequence that arrives after a hole.
type Gap string

const (
	GapIgnore Gap = "ignore"
	GapHold   Gap = "hold"
	GapApply  Gap = "apply"
)

// Audit is which decisions are kept in the decision log.
type Audit string

const (
	AuditOff        Audit = "off"
	AuditExceptions Audit = "exceptions"
	AuditAll        Audit = "all"
)

// DefaultPolicy is what a namespace has that no file mentions.
func DefaultPolicy() Policy {
	return Policy{
		Lease:             30 * time.Second,
		Retention:         720 * time.Hour,
		MaxRetention:      MaxRetention,
		ResultRetention:   24 * time.Hour,
		MaxResultBytes:    64 << 10,
		AllowFinal:        true,
		RetryHorizon:      72 * time.Hour,
		ReadableKeys:      true,
		OnStartedTakeover: TakeoverRetry,
		OnStoreDown:       StoreDownClosed,
		Routing:           RouteByKey,
		Audit:             AuditExceptions,
		Ordering: Ordering{
			Gap:           GapIgnore,
			Retention:     2160 * time.Hour,
			MaxFutureSkew: 5 * time.Minute,
		},
	}
}

// Check refuses a policy that cannot be kept, naming the setting and the bound.
func (p Policy) Check() error {
	var c checks
	c.within("lease", p.Lease, MinLease, MaxLease)
	c.within("max_retention", p.MaxRetention, MinRetention, MaxRetention)
	c.within("retention", p.Retention, MinRetention, p.MaxRetention)
	c.within("result_retention", p.ResultRetention, MinRetention, MaxRetention)
	if p.ResultRetention > p.Retention {
		c.fail("result_retention", "is longer than retention (%s)", bound(p.Retention))
	}
	c.between("max_result_bytes", p.MaxResultBytes, 0, MaxResultBytes)
	c.between("max_attempts", p.MaxAttempts, 0, 1<<31-1)
	c.between("min_replicas", p.MinReplicas, 0, 100)
	if p.RetryHorizon < 0 {
		c.fail("retry_horizon", "is negative")
	}
	if p.Retention < p.RetryHorizon {
		c.fail("retention", "is shorter than retry_horizon (%s): a retry would find nothing", p.RetryHorizon)
	}
	oneOf(&c, "on_started_takeover", p.OnStartedTakeover, TakeoverRetry, TakeoverReconcile)
	oneOf(&c, "on_store_down", p.OnStoreDown, StoreDownClosed, StoreDownOpen)
	oneOf(&c, "routing", p.Routing, RouteByKey, RouteByEntity)
	oneOf(&c, "audit", p.Audit, AuditOff, AuditExceptions, AuditAll)
	p.Ordering.check(&c, p.RetryHorizon)
	return c.err()
}

func (o Ordering) check(c *checks, horizon time.Duration) {
	oneOf(c, "ordering.gap", o.Gap, GapIgnore, GapHold, GapApply)
	if o.Retention != 0 {
		c.within("ordering.retention", o.Retention, MinRetention, MaxRetention)
		if o.Retention < horizon {
			c.fail("ordering.retention", "is shorter than retry_horizon (%s): a late event would look like the first", horizon)
		}
	}
	for from, next := range o.Transitions {
		for _, state := range append([]string{from}, next...) {
			c.state("ordering.transitions", state)
		}
	}
	if o.MaxFutureSkew < 0 {
		c.fail("ordering.max_future_skew", "is negative")
	}
}

func (c *checks) between(field string, got, least, most int) {
	if got < least || got > most {
		c.fail(field, "must be between %d and %d", least, most)
	}
}

func oneOf[T ~string](c *checks, field string, got T, allowed ...T) {
	for _, a := range allowed {
		if got == a {
			return
		}
	}
	c.fail(field, "must be one of %v", allowed)
}

// Policies are the policies of all namespaces.
type Policies struct {
	Strict     bool // namespaces that are not listed are refused
	Default    *Policy
	Namespaces map[string]*Policy
}

// DefaultPolicies are the ones in force without a file.
func DefaultPolicies() *Policies {
	def := DefaultPolicy()
	return &Policies{Default: &def}
}

// For gives the policy of a namespace, or ReasonNamespaceUnknown.
func (p *Policies) For(namespace string) (*Policy, error) {
	if known, ok := p.Namespaces[namespace]; ok {
		return known, nil
	}
	if p.Strict {
		return nil, &Error{Reason: ReasonNamespaceUnknown, Message: "the namespace is not in the policies file, and the file is strict"}
	}
	return p.Default, nil
}

// checkRouting refuses a claim's entity where claims live by their key, and asks
// for one where they live by their entity. field is how the call names it.
func (p *Policy) checkRouting(field string, ordered bool, entity string) error {
	switch {
	case p.Routing == RouteByKey && (ordered || entity != ""):
		return &Error{Reason: ReasonRouting, Message: "the namespace routes by key: an order or an entity is for namespaces with routing: entity"}
	case p.Routing == RouteByEntity && entity == "":
		return Invalid(field, "is required in a namespace with routing: entity")
	}
	return nil
}
