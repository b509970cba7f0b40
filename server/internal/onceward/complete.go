package onceward

import "time"

// CompleteRequest says that the effect happened, or failed for good.
type CompleteRequest struct {
	ClaimID
	Token           int64
	Result          []byte
	ResultType      string
	Failed          bool
	Retention       Duration // unset: what the claim asked for
	ResultRetention Duration

	Policy *Policy
}

func (q *CompleteRequest) resolve(p *Policy) error {
	var c checks
	q.ClaimID.check(&c)
	checkToken(&c, q.Token, p.leastToken())
	c.maxBytes("result", len(q.Result), p.MaxResultBytes)
	c.maxBytes("result_type", len(q.ResultType), MaxResultTypeBytes)
	c.optional("retention", q.Retention, MinRetention, p.MaxRetention)
	c.optional("result_retention", q.ResultRetention, MinRetention, p.MaxRetention)
	if q.Retention.Set && q.ResultRetention.Set && q.ResultRetention.Value > q.Retention.Value {
		c.fail("result_retention", "must not be longer than retention")
	}
	q.Policy = p
	q.Retention.Value = roundUp(q.Retention.Value)
	q.ResultRetention.Value = roundUp(q.ResultRetention.Value)
	if err := c.err(); err != nil {
		return err
	}
	return p.checkRouting("entity", false, q.Entity)
}

// leastToken is 0 where a claim may have been granted while the store was down:
// such a claim has no token.
func (p *Policy) leastToken() int64 {
	if p.OnStoreDown == StoreDownOpen {
		return 0
	}
	return 1
}

// HasResult tells whether there is anything to replay. A type alone counts.
func (q *CompleteRequest) HasResult() bool { return len(q.Result) > 0 || q.ResultType != "" }

// DecideComplete gives the answer and what follows it.
func DecideComplete(s Slot, q *CompleteRequest, now time.Time) (Settlement, Slot, error) {
	r := &s.Claim
	holder := r.State == InProgress || r.Unsettled
	if r.State != Absent && (!holder || r.Token != q.Token) {
		v := r.lost(q.Token, now)
		if v.Outcome == AlreadySettled {
			v.RetainedUntil = r.ExpiresAt
		}
		return s.withEntity(v, q.ClaimID), s, nil
	}
	if r.State == Absent && q.Token > now.Add(time.Hour).UnixMicro() {
		return s.withEntity(Settlement{Outcome: Lost}, q.ClaimID), s, nil // no such token was ever given out
	}
	v := Settlement{Outcome: OK, Recreated: r.State == Absent}
	v.Late = !v.Recreated && !(r.State == InProgress && r.held(now))
	retention := q.Policy.Retention
	if v.Recreated {
		*r = Record{Token: q.Token, Attempt: 1, FirstClaimedAt: now}
	} else {
		retention = r.retention()
	}
	retention = q.Retention.or(retention)
	if q.ResultRetention.Set && q.ResultRetention.Value > retention {
		return Settlement{}, s, ResultOutlives(retention)
	}
	s.settle(q.ClaimID, true, q.Policy, now)
	r.complete(q.state(), now, retention)
	if q.HasResult() {
		until := now.Add(min(q.ResultRetention.or(q.Policy.ResultRetention), retention))
		r.Result = &Result{Type: q.ResultType, Body: q.Result, Until: until}
	}
	v.State, v.RetainedUntil = r.State, r.ExpiresAt
	return s.withEntity(v, q.ClaimID), s, nil
}

func (s *Slot) withEntity(v Settlement, id ClaimID) Settlement {
	if id.Entity != "" {
		e := s.Entity
		v.Entity = &e
	}
	return v
}

// ResultOutlives refuses a result that would be kept longer than its mark.
func ResultOutlives(retention time.Duration) error {
	return Invalid("result_retention", "must not be longer than the claim's retention, %s", bound(retention))
}

func (q *CompleteRequest) state() State {
	if q.Failed {
		return Failed
	}
	return Completed
}

// complete ends the claim. Fingerprint, owner, attempt and the first claim's
// time stay; what only the holder needed goes.
func (r *Record) complete(s State, now time.Time, retention time.Duration) {
	r.State = s
	r.CompletedAt = now
	r.EffectStarted, r.Unsettled, r.PriorStarted, r.Died = false, false, false, 0
	r.RequestID, r.PreviousOwner, r.Reason = "", "", ""
	r.Result, r.Event, r.Base = nil, Event{}, 0
	r.hold(now, 0, retention)
}
