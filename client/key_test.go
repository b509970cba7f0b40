package client_test

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/onceward/onceward/client"
)

// The vectors that every client language must reproduce.
func TestDeriveKey_Vectors(t *testing.T) {
	for want, parts := range map[string][]string{
		"4243135e1ab29d63f7b74900f19ceb196bf9aced045750c0cc6e596002a01bcf": {"order-1", "OrderInvoiced", "2026-01-31T12:00:00Z"},
		"e482a79a788392ccae4952360dd438820641e4c162b4952b42d35e78260d70be": {"a", "b:c"},
		"540e8f1c5ae653a7d7e2fe88f7eb8dcabea924d661b1542ad191bb1848e0c33d": {"a:b", "c"},
		"028f0df5b8596fbcd10c9720b7a4784f8e7e04f629bd5a62bfbdf139678b6624": {"", "x"},
		"9c44e5757e707ff7cbc5b14de19aa8d4f8f5b11cc940a7e8242c2dfa93f30efd": {"jos\u00e9"},
	} {
		if got := client.DeriveKey(parts...); got != want {
			t.Errorf("DeriveKey(%q) = %s, want %s", parts, got, want)
		}
	}
}

func TestDeriveKey_RefusesWhatTheServiceRefuses(t *testing.T) {
	for _, parts := range [][]string{nil, {""}, {"", ""}, make([]string, 17), strings.Split(strings.Repeat("x ", 16), " "), {"a", "\xff"}} {
		if got := client.DeriveKey(parts...); got != "" {
			t.Errorf("DeriveKey(%q) = %s, want none", parts, got)
		}
	}
}

func TestDeriveKey_IsInjective(t *testing.T) {
	parts := rapid.SliceOfN(rapid.StringMatching(`[ab:]{0,3}`), 1, 4)
	rapid.Check(t, func(t *rapid.T) {
		a, b := parts.Draw(t, "a"), parts.Draw(t, "b")
		same := strings.Join(a, "\x00") == strings.Join(b, "\x00") && len(a) == len(b)
		keyA, keyB := client.DeriveKey(a...), client.DeriveKey(b...)
		if keyA != "" && same != (keyA == keyB) {
			t.Errorf("%q -> %s, %q -> %s", a, keyA, b, keyB)
		}
	})
}
