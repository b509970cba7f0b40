package redisstore_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/onceward/onceward/server/internal/onceward"
)

// longest is a text of so many bytes that starts with a word.
func longest(word string, bytes int) string { return word + strings.Repeat("x", bytes-len(word)) }

// TestTheLongestValuesPassThroughEveryVerb: scripts take their arguments packed, with
// lengths of one, two and four bytes, and a length that does not fit would be cut
// without an error.
func TestTheLongestValuesPassThroughEveryVerb(t *testing.T) {
	l := lanes(t)[0]
	for _, shadow := range []bool{false, true} {
		for _, routing := range []onceward.Routing{onceward.RouteByKey, onceward.RouteByEntity} {
			t.Run(fmt.Sprintf("%s shadow %t", routing, shadow), func(t *testing.T) {
				longValues(t, &l, routing, shadow)
			})
		}
	}
}

func longValues(t *testing.T, l *lane, routing onceward.Routing, shadow bool) {
	t.Helper()
	s, _ := l.open(t)
	states := map[string][]string{}
	for i := range 100 {
		states[longest(fmt.Sprint(i), onceward.MaxStateBytes)] = []string{longest(fmt.Sprint(i+1), onceward.MaxStateBytes), longest("all lead here", onceward.MaxStateBytes)}
	}
	policies := onceward.DefaultPolicies()
	policies.Default.Audit, policies.Default.MaxResultBytes = onceward.AuditAll, onceward.MaxResultBytes
	policies.Default.MaxRetention, policies.Default.Routing, policies.Default.Shadow = onceward.MaxRetention, routing, shadow
	policies.Default.Ordering.Transitions = states
	service := onceward.NewService(s, policies)

	namespace, owner := longest("namespace", onceward.MaxNameBytes), longest("owner", onceward.MaxOwnerBytes)
	print, reason := longest("fingerprint", onceward.MaxFingerprintBytes), longest("reason", onceward.MaxReasonBytes)
	act := onceward.Act{Actor: longest("actor", onceward.MaxActorBytes), Reason: reason}
	id := onceward.ClaimID{Namespace: namespace, Consumer: longest("consumer", onceward.MaxNameBytes), Key: longest("key", onceward.MaxKeyBytes)}
	event := onceward.Event{
		ID: longest("event", onceward.MaxKeyBytes), State: longest("all lead here", onceward.MaxStateBytes),
		Version: onceward.Version{Epoch: 1<<64 - 1, Kind: onceward.Decimal, Rank: 1<<31 - 1, Decimal: strings.Repeat("9", 64)},
	}
	q := &onceward.CheckAndClaimRequest{
		ClaimID: id, RequestID: longest("request", onceward.MaxRequestIDBytes), Owner: owner, Fingerprint: print,
		Lease: onceward.Of(onceward.MaxLease), Retention: onceward.Of(onceward.MaxRetention),
	}
	if routing == onceward.RouteByEntity {
		id.Entity, event.ID = longest("entity", onceward.MaxKeyBytes), id.Key // an ordered claim's event is its key
		q.ClaimID, q.Ordered, q.Event = id, true, event
	}
	v, err := service.CheckAndClaim(t.Context(), q)
	if err != nil || v.Outcome != onceward.Claimed {
		t.Fatalf("CheckAndClaim: %v, %v", v.Outcome, err)
	}
	// stored is where the claim lives: that of a shadow is in a namespace of its own.
	stored := id
	if shadow {
		stored.Namespace = "shadow:" + namespace
	}
	look := func(state onceward.State, reason string, result []byte) {
		t.Helper()
		c, err := s.GetClaim(t.Context(), &onceward.GetClaimRequest{ClaimID: stored, Policy: policies.Default})
		if err != nil {
			t.Fatal(err)
		}
		want := onceward.Claim{ClaimID: stored, State: state, Attempt: 1, Owner: owner, Token: v.Token, Reason: reason, Fingerprint: print}
		if result != nil {
			want.Result = onceward.Result{Type: longest("type", onceward.MaxResultTypeBytes), Body: result}
		}
		c.EffectStarted = false
		c.FirstClaimedAt, c.LeaseExpiresAt, c.CompletedAt, c.RetainedUntil = want.FirstClaimedAt, want.LeaseExpiresAt, want.CompletedAt, want.RetainedUntil
		if diff := cmp.Diff(want, c); diff != "" {
			t.Errorf("GetClaim: %s", diff)
		}
	}
	listed := func(state onceward.State) {
		t.Helper()
		page, err := s.ListClaims(t.Context(), &onceward.ListClaimsRequest{Namespace: stored.Namespace, State: state, Page: onceward.Page{Size: 10}, Policy: policies.Default})
		if err != nil || len(page.Claims) != 1 || page.Claims[0].ClaimID != stored || page.Claims[0].Owner != owner {
			t.Errorf("ListClaims: %+v, %v", page.Claims, err)
		}
	}
	look(onceward.InProgress, "", nil)
	listed(onceward.InProgress)
	if _, err := service.ExtendLease(t.Context(), &onceward.ExtendLeaseRequest{ClaimID: id, Token: v.Token, Lease: onceward.Of(onceward.MaxLease), EffectStarted: true}); err != nil {
		t.Errorf("ExtendLease: %v", err)
	}
	if _, err := service.Release(t.Context(), &onceward.ReleaseRequest{ClaimID: id, Token: v.Token, Park: true, Reason: reason}); err != nil {
		t.Errorf("Release: %v", err)
	}
	look(onceward.Parked, reason, nil)
	listed(onceward.Parked)
	if !shadow { // operators act on what is real
		c, err := service.ResolveClaim(t.Context(), &onceward.ResolveClaimRequest{ClaimID: id, Act: act, Resolution: onceward.NotDone})
		if err != nil || c.State != onceward.Released || c.Owner != owner {
			t.Errorf("ResolveClaim: %+v, %v", c, err)
		}
		if v, err = service.CheckAndClaim(t.Context(), q); err != nil || v.Outcome != onceward.Claimed || v.Attempt != 2 {
			t.Fatalf("CheckAndClaim: %+v, %v", v, err)
		}
		done, err := service.Complete(t.Context(), &onceward.CompleteRequest{
			ClaimID: id, Token: v.Token, ResultType: longest("type", onceward.MaxResultTypeBytes), Result: []byte(longest("result", onceward.MaxResultBytes)),
			Retention: onceward.Of(onceward.MaxRetention), ResultRetention: onceward.Of(onceward.MaxRetention),
		})
		if err != nil || done.Outcome != onceward.OK || time.Until(done.RetainedUntil) < onceward.MaxRetention-time.Hour {
			t.Fatalf("Complete: %+v, %v", done, err)
		}
		again := *q
		again.RequestID = "another"
		got, err := service.CheckAndClaim(t.Context(), &again)
		if err != nil || got.Outcome != onceward.Duplicate || string(got.Result.Body) != longest("result", onceward.MaxResultBytes) || got.Result.Type != longest("type", onceward.MaxResultTypeBytes) {
			t.Errorf("CheckAndClaim: %v, %d bytes of %q, %v", got.Outcome, len(got.Result.Body), got.Result.Type, err)
		}
		if routing == onceward.RouteByEntity {
			e, err := service.GetEntity(t.Context(), &onceward.GetEntityRequest{EntityID: id.EntityOf()})
			if err != nil || e.Version != event.Version || e.EventID != event.ID || e.State != event.State {
				t.Errorf("GetEntity: %+v, %v", e, err)
			}
		}
		was, err := service.ForgetClaim(t.Context(), &onceward.ForgetClaimRequest{ClaimID: id, Act: act})
		if err != nil || string(was.Result.Body) != longest("result", onceward.MaxResultBytes) || was.Fingerprint != print {
			t.Errorf("ForgetClaim: %v, %d bytes, %v", was.State, len(was.Result.Body), err)
		}
	}
	longDecisions(t, s, policies.Default, stored, act, event)
}

// longDecisions looks for the longest values in the log.
func longDecisions(t *testing.T, s onceward.Store, p *onceward.Policy, id onceward.ClaimID, act onceward.Act, event onceward.Event) {
	t.Helper()
	page, err := s.ListDecisions(t.Context(), &onceward.ListDecisionsRequest{Namespace: id.Namespace, Page: onceward.Page{Size: 100}, Policy: p})
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, d := range page.Decisions {
		seen[d.RPC] = true
		if d.Namespace != id.Namespace || d.Consumer != id.Consumer || d.Subject != id.Key || d.Entity != id.Entity {
			t.Errorf("%s of %d, %d, %d, %d bytes", d.RPC, len(d.Namespace), len(d.Consumer), len(d.Subject), len(d.Entity))
		}
		if operator := d.RPC == "ResolveClaim" || d.RPC == "ForgetClaim"; operator && (d.Actor != act.Actor || d.Reason != act.Reason) {
			t.Errorf("%s by %q, because %q", d.RPC, d.Actor, d.Reason)
		}
		if d.RPC == "CheckAndClaim" && id.Entity != "" && (d.Version != event.Version || d.EventID != event.ID) {
			t.Errorf("%s of %v, %q", d.RPC, d.Version, d.EventID)
		}
	}
	for _, rpc := range []string{"CheckAndClaim", "ExtendLease", "Release"} {
		if !seen[rpc] {
			t.Errorf("%s is not in the log", rpc)
		}
	}
}

// TestTheLongestEntityIsListedWhole flags an entity that has the longest names and
// as many holes as are kept.
func TestTheLongestEntityIsListedWhole(t *testing.T) {
	l := lanes(t)[0]
	s, _ := l.open(t)
	policies := onceward.DefaultPolicies()
	policies.Default.Ordering.Gap = onceward.GapApply
	service := onceward.NewService(s, policies)
	id := onceward.EntityID{
		Namespace: longest("namespace", onceward.MaxNameBytes), Consumer: longest("consumer", onceward.MaxNameBytes), Entity: longest("entity", onceward.MaxKeyBytes),
	}
	event := onceward.Event{ID: longest("event", onceward.MaxKeyBytes), State: longest("state", onceward.MaxStateBytes)}
	for n := uint64(1); n <= 80; n += 2 {
		event.Version = onceward.Version{Epoch: 1<<64 - 1, Kind: onceward.Sequence, Rank: -1 << 31, Sequence: n}
		q := &onceward.ApplyIfNewerRequest{EntityID: id, Event: event, RequestID: longest("request", onceward.MaxRequestIDBytes)}
		if v, err := service.ApplyIfNewer(t.Context(), q); err != nil || v.Outcome != onceward.Applied {
			t.Fatalf("event %d: %v, %v", n, v.Outcome, err)
		}
	}
	one, err := service.GetEntity(t.Context(), &onceward.GetEntityRequest{EntityID: id})
	if err != nil || one.Version != event.Version || one.EventID != event.ID || one.State != event.State || !one.Truncated || len(one.Missing) != 32 {
		t.Errorf("GetEntity: %+v, %v", one, err)
	}
	page, err := service.ListEntities(t.Context(), &onceward.ListEntitiesRequest{Namespace: id.Namespace})
	if err != nil || len(page.Entities) != 1 || page.Entities[0].EntityID != id || page.Entities[0].EventID != event.ID {
		t.Errorf("ListEntities: %d, %v", len(page.Entities), err)
	}
}
