package onceward

import "time"

// ClaimOutcome is the verdict on a claim.
type ClaimOutcome uint8

// The outcomes, in the contract's order.
const (
	Claimed ClaimOutcome = iota + 1
	StillInProgress
	Duplicate
	Conflict
	AlreadyFailed
	IsParked
	NeedsReconcile
	OutOfOrder
)

// CheckAndClaimRequest asks for the right to perform the effect of one event.
type CheckAndClaimRequest struct {
	ClaimID
	Ordered     bool   // the request carries an order: ClaimID.Entity, and
	Event       Event  // what it says of the event; its ID is filled in
	RequestID   string // identity of this attempt: the same id re-enters
	Lease       Duration
	Retention   Duration
	Fingerprint string
	Owner       string
	Final       bool     // one shot: no lease, nothing to complete
	Wait        Duration // how long to wait for a holder to finish

	Policy *Policy // of the namespace; Service fills it in
	Again  bool    // a waiter asks once more; Service fills it in
}

// ClaimVerdict is the answer. Fields are set where the outcome has them.
type ClaimVerdict struct {
	Outcome        ClaimOutcome
	Token          int64 // of the caller's own claim, else 0
	Attempt        int32
	Reentrant      bool
	Takeover       *Takeover
	LeaseExpiresAt time.Time
	RetainedUntil  time.Time
	RetryAfter     time.Duration
	FirstClaimedAt time.Time
	CompletedAt    time.Time
	Result         Result
	ResultExpired  bool
	Order          ApplyOutcome // OutOfOrder: what the order says
	Entity         *Entity      // ordered, Claimed or OutOfOrder: where the entity stands
	Shadow         ClaimOutcome // shadow mode: what the outcome would have been
	Degraded       string       // why the answer was given without the store; "": it was not
}

// Takeover tells about the last attempt whose lease ran out: whoever comes after
// it must look whether it acted, also if others gave the claim back in between.
type Takeover struct {
	PreviousAttempt int32
	PreviousOwner   string
	EffectStarted   bool
}

// resolve refuses what is out of bounds and fills in the policy's defaults.
func (q *CheckAndClaimRequest) resolve(p *Policy) error {
	var c checks
	q.ClaimID.check(&c)
	c.maxBytes("request_id", len(q.RequestID), MaxRequestIDBytes)
	c.maxBytes("owner", len(q.Owner), MaxOwnerBytes)
	c.maxBytes("fingerprint", len(q.Fingerprint), MaxFingerprintBytes)
	c.optional("lease", q.Lease, MinLease, MaxLease)
	c.optional("retention", q.Retention, MinRetention, p.MaxRetention)
	c.optional("wait", q.Wait, 0, MaxWait)
	if q.Final && q.Lease.Set {
		c.fail("lease", "excludes final: a final claim has no lease")
	}
	if q.Final && p.Routing == RouteByEntity {
		c.fail("final", "is not for namespaces with routing: entity: work on an entity needs a lease")
	}
	c.state("order.state", q.Event.State)
	if err := c.err(); err != nil {
		return err
	}
	if err := p.checkRouting("order.entity", q.Ordered, q.Entity); err != nil {
		return err
	}
	if err := q.Event.Version.check("order.version"); err != nil {
		return err
	}
	if q.Entity != "" {
		q.Event.ID = p.Readable(q.Key) // tells a repeat from a tie
	}
	if q.Final && !p.AllowFinal {
		return &Error{Reason: ReasonFinalNotAllowed, Message: "the namespace's policy forbids final claims"}
	}
	q.Policy = p
	q.Lease = Of(roundUp(q.Lease.or(p.Lease)))
	q.Retention = Of(roundUp(q.Retention.or(p.Retention)))
	return nil
}

// DecideCheckAndClaim gives the verdict and what follows it.
func DecideCheckAndClaim(s Slot, q *CheckAndClaimRequest, now time.Time) (ClaimVerdict, Slot, error) {
	r := &s.Claim
	switch {
	case r.Fingerprint != "" && q.Fingerprint != "" && r.Fingerprint != q.Fingerprint:
		return r.answer(Conflict, now), s, nil
	case r.settled() && r.Final && r.RequestID == q.RequestID:
		return r.claimed(true, now), s, nil
	case r.State == Completed:
		return r.answer(Duplicate, now), s, nil
	case r.State == Failed:
		return r.answer(AlreadyFailed, now), s, nil
	case r.State == Parked:
		return r.answer(IsParked, now), s, nil
	case r.State == InProgress && r.RequestID == q.RequestID && r.held(now):
		return s.reenter(q, now)
	case r.State == InProgress && r.held(now), r.State == Released && r.held(now):
		return r.answer(StillInProgress, now), s, nil
	case r.State == InProgress && r.RequestID == q.RequestID:
		return s.inOrder(q, now, s.reenter)
	case r.State == InProgress && r.EffectStarted && q.Policy.OnStartedTakeover == TakeoverReconcile:
		return r.answer(NeedsReconcile, now), s, nil
	case !r.absent() && q.Policy.MaxAttempts > 0 && int(r.Attempt-r.Base) >= q.Policy.MaxAttempts:
		r.parkExhausted(now)
		return r.answer(IsParked, now), s, nil
	}
	return s.inOrder(q, now, s.grant)
}

// inOrder goes on to next if the order lets the event through.
func (s *Slot) inOrder(q *CheckAndClaimRequest, now time.Time, next func(*CheckAndClaimRequest, time.Time) (ClaimVerdict, Slot, error)) (ClaimVerdict, Slot, error) {
	if q.Entity == "" {
		return next(q, now)
	}
	before := *s
	j, err := s.Entity.judge(q.Event, &q.Policy.Ordering, q.holder(), now)
	if err != nil {
		return ClaimVerdict{}, before, err
	}
	if j.outcome == Applied {
		return next(q, now)
	}
	if j.outcome != Future && j.outcome != Busy {
		s.Entity.keepLonger(&before.Entity, now, q.Policy.Ordering.Retention)
	}
	e := s.Entity
	return ClaimVerdict{Outcome: OutOfOrder, Order: j.outcome, RetryAfter: j.retryAfter, Entity: &e}, *s, nil
}

// holder is how an ordered claim is known to its entity.
func (id ClaimID) holder() string {
	if id.Entity == "" {
		return ""
	}
	return id.Record().Name
}

// reenter gives the holder its own claim again.
func (s *Slot) reenter(q *CheckAndClaimRequest, now time.Time) (ClaimVerdict, Slot, error) {
	s.Claim.renew(q, now)
	return s.holding(q, true, now)
}

// grant gives the claim to a new attempt.
func (s *Slot) grant(q *CheckAndClaimRequest, now time.Time) (ClaimVerdict, Slot, error) {
	s.Claim.grant(q, now)
	return s.holding(q, false, now)
}

// holding reserves the entity for the claim and answers the holder.
func (s *Slot) holding(q *CheckAndClaimRequest, reentrant bool, now time.Time) (ClaimVerdict, Slot, error) {
	v := s.Claim.claimed(reentrant, now)
	if s.Claim.Final {
		s.Claim.PreviousOwner = "" // told once: a finished record does not keep it
	}
	if q.Entity != "" {
		s.Entity.reserve(q.holder(), s.Claim.HeldUntil)
		e := s.Entity
		v.Entity = &e
	}
	return v, *s, nil
}

// renew gives the holder's own repeat a new lease and changes nothing else.
func (r *Record) renew(q *CheckAndClaimRequest, now time.Time) {
	if r.Fingerprint == "" {
		r.Fingerprint = q.Fingerprint
	}
	r.hold(now, q.Lease.Value, q.Retention.Value)
}

// grant hands the claim to a new attempt.
func (r *Record) grant(q *CheckAndClaimRequest, now time.Time) {
	if r.absent() {
		*r = Record{Token: r.Token, FirstClaimedAt: now}
	}
	if r.State == InProgress {
		r.Died, r.PreviousOwner, r.PriorStarted = r.Attempt, r.Owner, r.EffectStarted
	}
	if q.Fingerprint != "" {
		r.Fingerprint = q.Fingerprint
	}
	r.Token = nextToken(r.Token, now)
	r.Attempt++
	r.RequestID, r.Owner, r.Reason, r.Event = q.RequestID, q.Owner, "", q.Event
	r.State = InProgress
	r.hold(now, q.Lease.Value, q.Retention.Value)
	if q.Final {
		over := *r
		r.complete(Completed, now, q.Retention.Value)
		r.Final, r.RequestID = true, q.RequestID
		r.Died, r.PriorStarted, r.PreviousOwner = over.Died, over.PriorStarted, over.PreviousOwner
	}
}

// parkExhausted parks a claim that nobody may try again. The last holder may
// still complete it late if it never settled.
func (r *Record) parkExhausted(now time.Time) {
	r.Unsettled = r.State == InProgress
	if r.Reason == "" {
		r.Reason = "attempts used up"
	}
	retention := r.retention()
	r.State = Parked
	r.hold(now, 0, retention)
}

// answer is a verdict for somebody who does not hold the claim.
func (r *Record) answer(o ClaimOutcome, now time.Time) ClaimVerdict {
	v := ClaimVerdict{
		Outcome:        o,
		Attempt:        r.Attempt,
		RetainedUntil:  r.ExpiresAt,
		FirstClaimedAt: r.FirstClaimedAt,
		CompletedAt:    r.CompletedAt,
	}
	switch o {
	case Duplicate, AlreadyFailed:
		v.Result, v.ResultExpired = r.resultAt(now)
	case StillInProgress:
		v.RetryAfter = r.HeldUntil.Sub(now)
		if r.State == InProgress {
			v.LeaseExpiresAt = r.HeldUntil
		}
	}
	return v
}

// claimed is the verdict for the holder.
func (r *Record) claimed(reentrant bool, now time.Time) ClaimVerdict {
	v := r.answer(Claimed, now)
	v.Token, v.Reentrant = r.Token, reentrant
	if !r.Final {
		v.LeaseExpiresAt = r.HeldUntil
		v.CompletedAt = time.Time{}
	}
	if r.Died > 0 {
		v.Takeover = &Takeover{PreviousAttempt: r.Died, PreviousOwner: r.PreviousOwner, EffectStarted: r.PriorStarted}
	}
	return v
}
