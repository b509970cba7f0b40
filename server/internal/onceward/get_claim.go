package onceward

import "time"

// Claim is a record as people and programs read it.
type Claim struct {
	ClaimID
	State          State
	Attempt        int32
	Owner          string
	EffectStarted  bool
	Token          int64
	FirstClaimedAt time.Time
	LeaseExpiresAt time.Time // InProgress and Expired
	CompletedAt    time.Time
	RetainedUntil  time.Time
	Reason         string
	Fingerprint    string
	Result         Result
}

// GetClaimRequest names the claim to read.
type GetClaimRequest struct {
	ClaimID

	Policy *Policy
}

func (q *GetClaimRequest) resolve(p *Policy) error {
	var c checks
	q.ClaimID.check(&c)
	q.Policy = p
	if err := c.err(); err != nil {
		return err
	}
	return p.checkRouting("entity", false, q.Entity)
}

// View is the record as a Claim.
func (r *Record) View(id ClaimID, now time.Time) Claim {
	if r.absent() {
		return Claim{ClaimID: id}
	}
	c := Claim{
		ClaimID:        id,
		State:          r.StateAt(now),
		Attempt:        r.Attempt,
		Owner:          r.Owner,
		EffectStarted:  r.EffectStarted,
		Token:          r.Token,
		FirstClaimedAt: r.FirstClaimedAt,
		CompletedAt:    r.CompletedAt,
		RetainedUntil:  r.ExpiresAt,
		Reason:         r.Reason,
		Fingerprint:    r.Fingerprint,
	}
	if r.State == InProgress {
		c.LeaseExpiresAt = r.HeldUntil
	}
	c.Result, _ = r.resultAt(now)
	return c
}
