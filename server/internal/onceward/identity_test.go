package onceward

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestDeriveKey(t *testing.T) {
	for _, tc := range []struct {
		parts []string
		want  string
	}{
		{[]string{"order-1", "OrderInvoiced", "2026-01-31T12:00:00Z"}, "4243135e1ab29d63f7b74900f19ceb196bf9aced045750c0cc6e596002a01bcf"},
		{[]string{"a", "b:c"}, "e482a79a788392ccae4952360dd438820641e4c162b4952b42d35e78260d70be"},
		{[]string{"a:b", "c"}, "540e8f1c5ae653a7d7e2fe88f7eb8dcabea924d661b1542ad191bb1848e0c33d"},
		{[]string{"", "x"}, "028f0df5b8596fbcd10c9720b7a4784f8e7e04f629bd5a62bfbdf139678b6624"},
		{[]string{"jos\u00e9"}, "9c44e5757e707ff7cbc5b14de19aa8d4f8f5b11cc940a7e8242c2dfa93f30efd"},
	} {
		if got := DeriveKey(tc.parts); got != tc.want {
			t.Errorf("DeriveKey(%q) is %s, want %s", tc.parts, got, tc.want)
		}
	}
}

// TestRecordIsTheLayout pins where records live. A change here makes every
// stored record unfindable and needs a new key prefix.
func TestRecordIsTheLayout(t *testing.T) {
	for _, tc := range []struct {
		id   ClaimID
		want RecordID
	}{
		{ClaimID{Namespace: "stripe-live", Key: "evt_1"}, RecordID{Partition: 866, Name: "Rg66Yg8fLgGopufB6CbP"}},
		{ClaimID{Namespace: "stripe-live", Consumer: "ledger", Key: "evt_1"}, RecordID{Partition: 456, Name: "GZ5pX0rp40LT6-cXDMmH"}},
		{ClaimID{Namespace: "stripe-live", Key: "evt_1", Entity: "ch_1"}, RecordID{Partition: 970, Name: "dLkvboEyHzBQPdAKsFaz"}},
		{ClaimID{Namespace: "stripe-live", Key: "evt_2", Entity: "ch_1"}, RecordID{Partition: 970, Name: "pbybDCuU7-FKBnXJrvFa"}},
	} {
		if diff := cmp.Diff(tc.want, tc.id.Record()); diff != "" {
			t.Errorf("%+v lives elsewhere (-want +got):\n%s", tc.id, diff)
		}
	}
}

func TestDifferentIdentitiesHaveDifferentRecords(t *testing.T) {
	part := rapid.SampledFrom([]string{"", "a", "b", "a:b", "a/b", "{a}", "a\x00b", "b:c", "\x00", "aa"})
	identity := rapid.Custom(func(t *rapid.T) ClaimID {
		return ClaimID{part.Draw(t, "namespace"), part.Draw(t, "consumer"), part.Draw(t, "key"), part.Draw(t, "entity")}
	})
	rapid.Check(t, func(t *rapid.T) {
		a, b := identity.Draw(t, "a"), identity.Draw(t, "b")
		if (a == b) != (a.Record() == b.Record()) {
			t.Fatalf("%+v and %+v: records %v and %v", a, b, a.Record(), b.Record())
		}
		if a.Entity != "" && a.Entity == b.Entity && a.Namespace == b.Namespace && a.Consumer == b.Consumer &&
			a.Record().Partition != b.Record().Partition {
			t.Fatalf("%+v and %+v belong to one entity and to two partitions", a, b)
		}
	})
}

func TestClaimIDBounds(t *testing.T) {
	ok := ClaimID{Namespace: "gubee/orders", Consumer: "A-z0.9_x/y", Key: "k"}
	for name, tc := range map[string]struct {
		change func(*ClaimID)
		field  string
	}{
		"fine":                  {func(*ClaimID) {}, ""},
		"no consumer":           {func(id *ClaimID) { id.Consumer = "" }, ""},
		"longest names":         {func(id *ClaimID) { id.Namespace, id.Consumer = strings.Repeat("n", 64), strings.Repeat("c", 64) }, ""},
		"longest key":           {func(id *ClaimID) { id.Key = strings.Repeat("é", 512) }, ""},
		"key with white space":  {func(id *ClaimID) { id.Key = " k\n" }, ""},
		"key of an odd space":   {func(id *ClaimID) { id.Key = "\u200b" }, ""}, // zero width, not white space
		"no namespace":          {func(id *ClaimID) { id.Namespace = "" }, "namespace"},
		"namespace too long":    {func(id *ClaimID) { id.Namespace = strings.Repeat("n", 65) }, "namespace"},
		"namespace with brace":  {func(id *ClaimID) { id.Namespace = "a{b}" }, "namespace"},
		"namespace not ASCII":   {func(id *ClaimID) { id.Namespace = "ação" }, "namespace"},
		"consumer with a space": {func(id *ClaimID) { id.Consumer = "a b" }, "consumer"},
		"no key":                {func(id *ClaimID) { id.Key = "" }, "key"},
		"key too long":          {func(id *ClaimID) { id.Key = strings.Repeat("é", 512) + "x" }, "key"},
		"key of spaces":         {func(id *ClaimID) { id.Key = " \t\r\n\u2003\u00a0" }, "key"},
		"key not UTF-8":         {func(id *ClaimID) { id.Key = "\xff" }, "key"},
	} {
		t.Run(name, func(t *testing.T) {
			id := ok
			tc.change(&id)
			var c checks
			id.check(&c)
			if got := fieldOf(c.err()); got != tc.field {
				t.Errorf("refused field is %q, want %q", got, tc.field)
			}
		})
	}
}

func TestResolveKey(t *testing.T) {
	sixteen := strings.Split("a b c d e f g h i j k l m n o p", " ")
	for name, tc := range map[string]struct {
		key   string
		parts []string
		field string
	}{
		"key":             {"k", nil, ""},
		"neither":         {"", nil, ""}, // the check of the key refuses it
		"parts":           {"", []string{"", "x"}, ""},
		"sixteen":         {"", sixteen, ""},
		"seventeen":       {"", append(sixteen, "q"), "key_parts"},
		"both":            {"k", []string{"k"}, "key_parts"},
		"one empty":       {"", []string{""}, "key_parts"},
		"all of it empty": {"", []string{"", "", ""}, "key_parts"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := ResolveKey(tc.key, tc.parts)
			if got := fieldOf(err); got != tc.field {
				t.Errorf("refused field is %q, want %q", got, tc.field)
			}
		})
	}
}

func FuzzDeriveKey(f *testing.F) {
	f.Add("a", "b:c", "a:b", "c")
	f.Fuzz(func(t *testing.T, a1, a2, b1, b2 string) {
		a, b := []string{a1, a2}, []string{b1, b2}
		if same := a1 == b1 && a2 == b2; same != (DeriveKey(a) == DeriveKey(b)) {
			t.Errorf("%q and %q", a, b)
		}
		if DeriveKey([]string{a1 + a2}) == DeriveKey(a) {
			t.Errorf("one part is two: %q", a)
		}
	})
}

// fieldOf is the first field that an error refuses.
func fieldOf(err error) string {
	var e *Error
	if errors.As(err, &e) && len(e.Violations) > 0 {
		return e.Violations[0].Field
	}
	return ""
}
