package onceward

// The outcomes' names, as in the contract without their prefix. They stand in
// the decision log.

func (o ClaimOutcome) String() string {
	return name(int(o), "CLAIMED", "IN_PROGRESS", "DUPLICATE", "CONFLICT", "FAILED", "PARKED", "NEEDS_RECONCILE", "OUT_OF_ORDER")
}

func (o SettleOutcome) String() string { return name(int(o), "OK", "ALREADY_SETTLED", "LOST") }

func (o ApplyOutcome) String() string {
	return name(int(o), "APPLIED", "DUPLICATE", "STALE", "GAP", "TIE", "BUSY", "TRANSITION_DENIED", "FUTURE")
}

func (r Resolution) String() string { return name(int(r), "DONE", "NOT_DONE") }

// name is the n-th of names, counted from 1.
func name(n int, names ...string) string {
	if n < 1 || n > len(names) {
		return "UNSPECIFIED"
	}
	return names[n-1]
}
