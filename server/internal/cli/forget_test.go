package cli_test

import (
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	oncewardv1 "github.com/onceward/onceward/gen/go/onceward/v1"
)

func TestForgetClaim(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.park("a", "ledger", "evt_1", "card refused")
	s.hold("a", "ledger", "evt_2")
	forget := func(more ...string) []string {
		return append([]string{"forget", "claim", "-namespace", "a", "-consumer", "ledger", "-reason", "test event"}, more...)
	}

	was := parseOne[oncewardv1.ForgetClaimResponse](t, s.done(forget("-key", "evt_1")...)).GetForgotten()
	if was.GetKey() != "evt_1" || was.GetState() != oncewardv1.ClaimState_CLAIM_STATE_PARKED {
		t.Error(was)
	}
	if state := s.state("a", "ledger", "evt_1"); state != oncewardv1.ClaimState_CLAIM_STATE_ABSENT {
		t.Error(state)
	}
	if out := s.done(forget("-key", "evt_2", "-table")...); out != `Forgot the claim "evt_2" of consumer ledger in a: it was in progress, at attempt 1.`+"\n" {
		t.Error(out)
	}
	if out := s.done(forget("-key", "evt_2", "-table")...); out != `There was no record of the claim "evt_2" of consumer ledger in a: nothing to forget.`+"\n" {
		t.Error(out)
	}
}

func TestForgetClaimByParts(t *testing.T) {
	t.Parallel()
	s := start(t)
	parts := []string{"", "b:c", "2026-01-31"}
	s.claim(&oncewardv1.CheckAndClaimRequest{Namespace: "a", KeyParts: parts, Lease: durationpb.New(time.Hour)})
	forget := []string{"forget", "claim", "-table", "-namespace", "a", "-reason", "r", "-part", parts[0], "-part", parts[1], "-part", parts[2]}
	if out := s.done(forget...); out != `Forgot the claim of the parts ["" "b:c" "2026-01-31"] in a: it was in progress, at attempt 1.`+"\n" {
		t.Error(out)
	}
}

// One name, and what forget claim and forget entity do with it.
func TestForgetTellsClaimsFromEntities(t *testing.T) {
	t.Parallel()
	s := start(t)
	order := func(key string, version uint64) *oncewardv1.CheckAndClaimRequest {
		return &oncewardv1.CheckAndClaimRequest{
			Namespace: "orders", Consumer: "ledger", Key: key, Lease: durationpb.New(time.Hour),
			Order: &oncewardv1.Order{Entity: "o-1", Version: sequence(version)},
		}
	}
	v := s.claim(order("o-1", 1))
	_, err := s.worker.Complete(t.Context(), &oncewardv1.CompleteRequest{
		Namespace: "orders", Consumer: "ledger", Key: "o-1", Entity: "o-1", FencingToken: v.GetFencingToken(),
	})
	if err != nil {
		t.Fatal(err)
	}
	where := []string{"-table", "-namespace", "orders", "-consumer", "ledger", "-entity", "o-1", "-reason", "r"}

	s.refused(2, []string{"exactly one of -key and -part is required"}, append([]string{"forget", "claim"}, where...)...)
	s.refused(2, []string{"-key"}, append([]string{"forget", "entity", "-key", "o-1"}, where...)...)
	if out := s.done(append([]string{"forget", "claim", "-key", "o-1"}, where...)...); out !=
		`Forgot the claim "o-1" of entity "o-1" of consumer ledger in orders: it was completed, at attempt 1.`+"\n" {
		t.Error(out)
	}
	if e := s.entity("orders", "o-1").GetEntity(); e.GetVersion().GetSequence() != 1 {
		t.Errorf("forgetting the claim changed the entity: %v", e)
	}
	s.claim(order("next", 2))
	if out := s.done(append([]string{"forget", "entity"}, where...)...); out !=
		`Forgot the entity "o-1" of consumer ledger in orders: it was at version 1.`+"\n" {
		t.Error(out)
	}
	if v := s.claim(order("next", 2)); v.GetOutcome() != oncewardv1.ClaimOutcome_CLAIM_OUTCOME_IN_PROGRESS {
		t.Errorf("forgetting the entity changed its claim: %v", v)
	}
}

func TestForgetEntity(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.gap("order-1")
	s.tie("gaps", "order-2")
	forget := func(entity string, more ...string) []string {
		return append([]string{"forget", "entity", "-namespace", "gaps", "-consumer", "ledger", "-entity", entity, "-reason", "r"}, more...)
	}
	if out := s.done(forget("order-1", "-table")...); out !=
		`Forgot the entity "order-1" of consumer ledger in gaps: it was at version 1, and flagged: gap, missing 2-4.`+"\n" {
		t.Error(out)
	}
	was := parseOne[oncewardv1.ForgetEntityResponse](t, s.done(forget("order-2")...)).GetForgotten()
	if was.GetVersion().GetSequence() != 3 || was.GetReconcileReason() != "tie" {
		t.Error(was)
	}
	if s.entity("gaps", "order-1").GetFound() || s.entity("gaps", "order-2").GetFound() {
		t.Error("something is still remembered")
	}
	checkText(t, s.done(forget("order-1", "-table")...), "Nothing was remembered of the entity")
}

func TestForgetRefuses(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.hold("a", "", "k")
	s.refused(2, []string{"say what: forget claim, forget entity"}, "forget")
	s.refused(2, []string{"say what: forget claim, forget entity"}, "forget", "-key", "k")
	s.refused(2, []string{"exactly one of -key and -part"}, "forget", "claim", "-namespace", "a", "-reason", "r")
	s.refused(2, []string{"exactly one of -key and -part"}, "forget", "claim", "-namespace", "a", "-key", "k", "-part", "k", "-reason", "r")
	s.refused(2, []string{"given twice"}, "forget", "claim", "-namespace", "a", "-key", "k", "-key", "l", "-reason", "r")
	s.refused(2, []string{"not UTF-8"}, "forget", "claim", "-namespace", "a", "-key", "\xff", "-reason", "r")
	s.refused(1, []string{"FAILED_PRECONDITION", "[ROUTING]"}, "forget", "claim", "-namespace", "a", "-key", "k", "-entity", "e", "-reason", "r")
	s.refused(1, []string{"INVALID_ARGUMENT", "entity", "[FIELD_INVALID]"}, "forget", "claim", "-namespace", "orders", "-key", "k", "-reason", "r")
	if state := s.state("a", "", "k"); state != oncewardv1.ClaimState_CLAIM_STATE_IN_PROGRESS {
		t.Errorf("it is %v", state)
	}
}
