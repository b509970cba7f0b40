package onceward

import (
	"strings"
	"time"
)

// Decision is one entry of the decision log.
type Decision struct {
	At        time.Time
	RPC       string
	Outcome   string
	Namespace string
	Consumer  string
	Subject   string // key or entity; a hash where the namespace keeps nothing readable
	Entity    string // of an ordered claim, or of a call about an entity
	Version   Version
	EventID   string
	Attempt   int32
	Owner     string
	Actor     string
	Reason    string
}

// Logs tells whether a decision with this outcome is written down. Normal are
// CLAIMED, DUPLICATE, APPLIED and OK.
func (p *Policy) Logs(normal bool) bool {
	return p.Audit == AuditAll || p.Audit == AuditExceptions && !normal
}

// ListDecisionsRequest asks for the newest decisions of a namespace, of a claim
// or of an entity.
type ListDecisionsRequest struct {
	Namespace string
	Consumer  string
	Key       string // "": not restricted to a claim
	Entity    string // "": not restricted to an entity
	Page

	Policy *Policy
}

func (q *ListDecisionsRequest) resolve(p *Policy) error {
	var c checks
	c.namespace(q.Namespace)
	c.name("consumer", q.Consumer)
	if q.Key != "" {
		c.text("key", q.Key)
	}
	if q.Entity != "" {
		c.text("entity", q.Entity)
	}
	if q.Key != "" && p.Routing == RouteByEntity && q.Entity == "" {
		c.fail("entity", "is required with key in a namespace with routing: entity")
	}
	if q.Key != "" && p.Routing == RouteByKey && q.Entity != "" {
		c.fail("entity", "excludes key in a namespace with routing: key")
	}
	q.Page.resolve(&c)
	q.Policy = p
	return c.err()
}

// Partition is the only one that can hold what is asked for, or -1 for all.
func (q *ListDecisionsRequest) Partition() int {
	switch {
	case q.Key != "" && q.Entity == "":
		return ClaimID{Namespace: q.Namespace, Consumer: q.Consumer, Key: q.Key}.Record().Partition
	case q.Entity != "":
		return EntityID{q.Namespace, q.Consumer, q.Entity}.Record().Partition
	}
	return -1
}

// Wants tells whether an entry of the log is asked for.
func (q *ListDecisionsRequest) Wants(d *Decision) bool {
	about := q.Key != "" || q.Entity != ""
	return d.Namespace == q.Namespace &&
		(d.Consumer == q.Consumer || !about && q.Consumer == "") &&
		(q.Key == "" || d.Subject == q.Policy.Readable(q.Key) && strings.Contains(claimCalls, " "+d.RPC+" ")) &&
		(q.Entity == "" || d.Entity == q.Policy.Readable(q.Entity))
}

// claimCalls are the calls whose subject is a key.
const claimCalls = " CheckAndClaim Complete Release ExtendLease ForgetClaim ResolveClaim "

// DecisionsPage is one page of the log, newest first.
type DecisionsPage struct {
	Decisions []Decision
	Next      string
}

// about starts an entry of the log.
func (p *Policy) about(rpc string, id ClaimID, now time.Time) Decision {
	return Decision{At: now, RPC: rpc, Namespace: id.Namespace, Consumer: id.Consumer, Entity: p.Readable(id.Entity), Subject: p.Readable(id.Key)}
}

func (p *Policy) aboutEntity(rpc string, id EntityID, now time.Time) Decision {
	name := p.Readable(id.Entity)
	return Decision{At: now, RPC: rpc, Namespace: id.Namespace, Consumer: id.Consumer, Entity: name, Subject: name}
}

// Log is the entry for a verdict on a claim, and whether it is to be written.
func (q *CheckAndClaimRequest) Log(v *ClaimVerdict, r *Record, now time.Time) (Decision, bool) {
	d := q.Policy.about("CheckAndClaim", q.ClaimID, now)
	d.Outcome = v.Outcome.String()
	if v.Order != 0 {
		d.Outcome += " " + v.Order.String()
	}
	d.Version, d.EventID, d.Attempt, d.Owner = q.Event.Version, q.Event.ID, r.Attempt, q.Owner
	waits := q.Again && (v.Outcome == StillInProgress || v.Order == Busy)
	return d, !waits && q.Policy.Logs(v.Outcome == Claimed || v.Outcome == Duplicate)
}

// Log is the entry for how a claim was settled; r is the record afterwards.
func (s *Settlement) Log(rpc string, p *Policy, id ClaimID, r *Record, reason string, now time.Time) (Decision, bool) {
	d := p.about(rpc, id, now)
	d.Outcome, d.Attempt, d.Owner, d.Reason = s.Outcome.String(), r.Attempt, r.Owner, reason
	return d, p.Logs(s.Outcome == OK)
}

// Log is the entry for a verdict on an event, and whether it is to be written.
func (q *ApplyIfNewerRequest) Log(v *ApplyVerdict, now time.Time) (Decision, bool) {
	d := q.Policy.aboutEntity("ApplyIfNewer", q.EntityID, now)
	d.Outcome, d.Version, d.EventID = v.Outcome.String(), q.Version, q.Event.ID
	return d, q.Policy.Logs(v.Outcome == Applied || v.Outcome == SameAgain)
}

// Log is the entry for an operator's call about a claim: always written.
func (a Act) Log(rpc, outcome string, p *Policy, id ClaimID, attempt int32, now time.Time) Decision {
	d := p.about(rpc, id, now)
	d.Outcome, d.Attempt, d.Actor, d.Reason = outcome, attempt, a.Actor, a.Reason
	return d
}

// LogEntity is the entry for an operator's call about an entity: always written.
func (a Act) LogEntity(rpc, outcome string, p *Policy, id EntityID, ev Event, now time.Time) Decision {
	d := p.aboutEntity(rpc, id, now)
	d.Outcome, d.Version, d.EventID, d.Actor, d.Reason = outcome, ev.Version, ev.ID, a.Actor, a.Reason
	return d
}
