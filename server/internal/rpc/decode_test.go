package rpc

import (
	"math"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	oncewardv1 "github.com/onceward/onceward/gen/go/onceward/v1"
	"github.com/onceward/onceward/server/internal/onceward"
)

func TestDurationTellsUnsetFromZero(t *testing.T) {
	for name, tc := range map[string]struct {
		in   *durationpb.Duration
		want onceward.Duration
		bad  bool
	}{
		"unset":           {nil, onceward.Duration{}, false},
		"zero":            {&durationpb.Duration{}, onceward.Of(0), false},
		"a second":        {durationpb.New(time.Second), onceward.Of(time.Second), false},
		"negative":        {durationpb.New(-1), onceward.Of(-1), false},
		"largest seconds": {&durationpb.Duration{Seconds: math.MaxInt64}, onceward.Of(math.MaxInt64), false},
		"least seconds":   {&durationpb.Duration{Seconds: math.MinInt64}, onceward.Of(math.MinInt64), false},
		"mixed signs":     {&durationpb.Duration{Seconds: 1, Nanos: -1}, onceward.Duration{}, true},
		"too many nanos":  {&durationpb.Duration{Nanos: 1e9}, onceward.Duration{}, true},
	} {
		t.Run(name, func(t *testing.T) {
			var d decoder
			got := d.duration("lease", tc.in)
			if (d.err != nil) != tc.bad || !tc.bad && got != tc.want {
				t.Errorf("got %v, error %v", got, d.err)
			}
		})
	}
}

// TestEveryOutcomeIsEncoded holds that no verdict of the domain reaches a client
// as UNSPECIFIED.
func TestEveryOutcomeIsEncoded(t *testing.T) {
	for o := onceward.Claimed; o <= onceward.OutOfOrder; o++ {
		if claimOutcomes[o] == oncewardv1.ClaimOutcome_CLAIM_OUTCOME_UNSPECIFIED {
			t.Errorf("claim outcome %d has no wire value", o)
		}
	}
	for o := onceward.OK; o <= onceward.Lost; o++ {
		if settleOutcomes[o] == oncewardv1.SettleOutcome_SETTLE_OUTCOME_UNSPECIFIED {
			t.Errorf("settle outcome %d has no wire value", o)
		}
	}
	for s := onceward.Absent; s <= onceward.Expired; s++ {
		if claimStates[s] == oncewardv1.ClaimState_CLAIM_STATE_UNSPECIFIED {
			t.Errorf("state %d has no wire value", s)
		}
	}
}
