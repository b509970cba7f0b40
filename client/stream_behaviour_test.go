package client_test

import "testing"

// Whatever a client does by calls of its own it does over a stream.
func TestServer_OverAStream(t *testing.T) {
	overStreams = true
	defer func() { overStreams = false }()
	for _, test := range []struct {
		name string
		run  func(*testing.T)
	}{
		{"replay", TestServer_OnceReplaysTheResult},
		{"many callers", TestServer_ManyCallersOneEffect},
		{"derived key", TestServer_DerivedKeyMeetsItsParts},
		{"in progress", TestServer_InProgressWithoutWait},
		{"terminal failure", TestServer_TerminalFailureIsReplayed},
		{"release", TestServer_FailureIsReleasedForTheNextAttempt},
		{"held back", TestServer_ReleaseHoldsTheEventBack},
		{"panic", TestServer_PanicReleases},
		{"effect started", TestServer_EffectStartedParks},
		{"conflict", TestServer_ConflictingFingerprint},
		{"lease kept", TestServer_LeaseIsKeptWhileTheFunctionRuns},
		{"takeover", TestServer_WaitsForADeadHoldersLeaseAndTakesOver},
		{"taken over", TestServer_TakenOverWhileTheFunctionRuns},
		{"large result", TestServer_ResultThatIsTooLargeParksTheClaim},
		{"calls", TestServer_Calls},
		{"refusals", TestServer_RefusalsHaveAReason},
		{"apply", TestServer_Apply},
		{"apply refusals", TestServer_ApplyRefusals},
		{"apply after a hole", TestServer_ApplyHoldsBackWhatComesAfterAHole},
		{"apply transitions", TestServer_ApplyKeepsToTheTransitions},
		{"apply re-entry", TestServer_ApplyAgainUnderTheSameRequestID},
		{"apply and claim", TestServer_ApplyMeetsAClaimOfTheEntity},
		{"ordered claims", TestServer_OrderedEventsAfterAHole},
	} {
		t.Run(test.name, test.run)
	}
}
