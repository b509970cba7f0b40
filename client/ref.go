package client

import oncewardv1 "github.com/onceward/onceward/gen/go/onceward/v1"

// Ref names one claim. All of it is compared byte by byte: nothing is trimmed,
// folded or normalised.
type Ref struct {
	// Namespace is the provider and environment, such as "stripe-live": 1 to 64
	// of A-Z a-z 0-9 . _ / -
	Namespace string
	// Consumer is the handler of the event; two consumers of one event are
	// independent. Same alphabet as Namespace. May be empty.
	Consumer string
	// Key is the event's stable identity, 1 to 1024 bytes of UTF-8. Never the
	// id of a delivery, which changes with each attempt of the sender.
	Key string
	// KeyParts replaces Key where the sender gives no id: 1 to 16 stable fields
	// of the event, from which the service derives the key as [DeriveKey] does.
	// Exactly one of Key and KeyParts must be set.
	KeyParts []string
	// Entity is required in namespaces with routing: entity, and forbidden in
	// others: the entity that the claim was ordered by.
	Entity string
}

// State is what a claim's record is in.
type State = oncewardv1.ClaimState

// The states of a claim.
const (
	StateAbsent     = oncewardv1.ClaimState_CLAIM_STATE_ABSENT
	StateInProgress = oncewardv1.ClaimState_CLAIM_STATE_IN_PROGRESS
	// StateExpired: in progress, but the lease is over and nobody came yet.
	StateExpired   = oncewardv1.ClaimState_CLAIM_STATE_EXPIRED
	StateReleased  = oncewardv1.ClaimState_CLAIM_STATE_RELEASED
	StateCompleted = oncewardv1.ClaimState_CLAIM_STATE_COMPLETED
	StateFailed    = oncewardv1.ClaimState_CLAIM_STATE_FAILED
	StateParked    = oncewardv1.ClaimState_CLAIM_STATE_PARKED
)
