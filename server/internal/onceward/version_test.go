package onceward

import (
	"cmp"
	"math"
	"math/big"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

var (
	epochs    = rapid.OneOf(rapid.SampledFrom([]uint64{0, 1, math.MaxUint64}), rapid.Uint64())
	ranks     = rapid.OneOf(rapid.SampledFrom([]int32{0, 1, -1, math.MinInt32, math.MaxInt32}), rapid.Int32())
	sequences = rapid.OneOf(rapid.SampledFrom([]uint64{0, 1, 1<<53 - 1, 1 << 53, 1<<53 + 1, 1 << 63, math.MaxUint64 - 1, math.MaxUint64}), rapid.Uint64())
	decimals  = rapid.StringMatching(`0{0,3}[0-9]{1,61}`)
	instants  = rapid.Custom(func(t *rapid.T) time.Time {
		sec := rapid.Int64Range(firstInstant.Unix(), lastInstant.Unix()).Draw(t, "seconds")
		return time.Unix(sec, rapid.Int64Range(0, 999_999_999).Draw(t, "nanos")).UTC()
	})
)

func versionOf(kind VersionKind) *rapid.Generator[Version] {
	return rapid.Custom(func(t *rapid.T) Version {
		v := Version{Kind: kind, Epoch: epochs.Draw(t, "epoch"), Rank: ranks.Draw(t, "rank")}
		switch kind {
		case Sequence:
			v.Sequence = sequences.Draw(t, "sequence")
		case Timestamp:
			v.Time = instants.Draw(t, "time")
		case Decimal:
			v.Decimal = decimals.Draw(t, "decimal")
		}
		return v
	})
}

// number is a version's value as an integer of any size, the judge of every
// comparison.
func number(v Version) *big.Int {
	switch v.Kind {
	case Timestamp:
		n := new(big.Int).Mul(big.NewInt(v.Time.Unix()), big.NewInt(1e9))
		return n.Add(n, big.NewInt(int64(v.Time.Nanosecond())))
	case Decimal:
		n, _ := new(big.Int).SetString(v.Decimal, 10)
		return n
	}
	return new(big.Int).SetUint64(v.Sequence)
}

func TestVersionsCompareExactly(t *testing.T) {
	for _, kind := range []VersionKind{Sequence, Timestamp, Decimal} {
		rapid.Check(t, func(t *rapid.T) {
			v, w := versionOf(kind).Draw(t, "v"), versionOf(kind).Draw(t, "w")
			if rapid.Bool().Draw(t, "same epoch") {
				w.Epoch = v.Epoch
			}
			want := cmp.Or(cmp.Compare(v.Epoch, w.Epoch), number(v).Cmp(number(w)), cmp.Compare(v.Rank, w.Rank))
			if got := v.Compare(w); got != want {
				t.Errorf("%+v against %+v is %d, want %d", v, w, got, want)
			}
			if got := compareEncoded(v, w); got != want {
				t.Errorf("encoded, %+v against %+v is %d, want %d", v, w, got, want)
			}
		})
	}
}

// compareEncoded orders two versions as the scripts do: by their bytes, the last
// one of a decimal left out.
func compareEncoded(v, w Version) int {
	a, b := v.Encode(), w.Encode()
	if v.Kind == Decimal {
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	return strings.Compare(a, b)
}

func TestVersionsComeBackDigitForDigit(t *testing.T) {
	for _, kind := range []VersionKind{Sequence, Timestamp, Decimal} {
		rapid.Check(t, func(t *rapid.T) {
			v := versionOf(kind).Draw(t, "v")
			got, err := DecodeVersion(v.Encode())
			if err != nil || got != v {
				t.Errorf("%+v came back as %+v, %v", v, got, err)
			}
		})
	}
	for _, digits := range []string{"0", "000", "007", "7", strings.Repeat("9", 64), strings.Repeat("0", 64)} {
		got, err := DecodeVersion(Version{Kind: Decimal, Decimal: digits}.Encode())
		if err != nil || got.Decimal != digits {
			t.Errorf("%s came back as %s, %v", digits, got.Decimal, err)
		}
	}
}

func TestVersionBounds(t *testing.T) {
	for name, tc := range map[string]struct {
		v      Version
		reason Reason
	}{
		"decimal of no digits":  {Version{Kind: Decimal}, ReasonFieldInvalid},
		"decimal of 65 digits":  {Version{Kind: Decimal, Decimal: strings.Repeat("9", 65)}, ReasonFieldInvalid},
		"decimal with a sign":   {Version{Kind: Decimal, Decimal: "-1"}, ReasonFieldInvalid},
		"decimal with a letter": {Version{Kind: Decimal, Decimal: "1a2"}, ReasonFieldInvalid},
		"decimal, other digits": {Version{Kind: Decimal, Decimal: "١"}, ReasonFieldInvalid},
		"before 2000":           {Version{Kind: Timestamp, Time: firstInstant.Add(-1)}, ReasonVersionUnit},
		"after 9999":            {Version{Kind: Timestamp, Time: lastInstant.Add(1)}, ReasonVersionUnit},
		"first instant":         {Version{Kind: Timestamp, Time: firstInstant}, ""},
		"last instant":          {Version{Kind: Timestamp, Time: lastInstant}, ""},
		"sequence 0":            {Version{Kind: Sequence}, ""},
	} {
		err := tc.v.check("version")
		if tc.reason == "" {
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
		} else if e, ok := err.(*Error); !ok || e.Reason != tc.reason {
			t.Errorf("%s: %v, want %s", name, err, tc.reason)
		}
	}
}

func FuzzDecodeVersion(f *testing.F) {
	f.Add(Version{Kind: Sequence, Sequence: 7}.Encode())
	f.Add(Version{Kind: Timestamp, Time: firstInstant, Rank: -1}.Encode())
	f.Add(Version{Kind: Decimal, Decimal: "007", Epoch: 3}.Encode())
	f.Fuzz(func(t *testing.T, s string) {
		v, err := DecodeVersion(s)
		if err == nil && v.Encode() != s {
			t.Errorf("%q reads as %+v, which writes as %q", s, v, v.Encode())
		}
	})
}

// TestRangesAreSets compares the lists of missing sequences with plain sets.
func TestRangesAreSets(t *testing.T) {
	const most = 40
	rapid.Check(t, func(t *rapid.T) {
		var list []Range
		set := map[uint64]bool{}
		for range rapid.IntRange(1, 20).Draw(t, "steps") {
			n := rapid.Uint64Range(0, most).Draw(t, "n")
			switch rapid.IntRange(0, 2).Draw(t, "step") {
			case 0:
				last := rapid.Uint64Range(n, most).Draw(t, "last")
				list = addRange(list, Range{n, last})
				for i := n; i <= last; i++ {
					set[i] = true
				}
			case 1:
				var found bool
				if list, found = removeOne(list, n); found != set[n] {
					t.Fatalf("%d found: %v, want %v", n, found, set[n])
				}
				delete(set, n)
			case 2:
				list = removeUpTo(list, n)
				for i := range n + 1 {
					delete(set, i)
				}
			}
			checkRanges(t, list, set)
		}
	})
}

func checkRanges(t *rapid.T, list []Range, set map[uint64]bool) {
	var got, want []uint64
	for i, r := range list {
		if r.First > r.Last || i > 0 && r.First <= list[i-1].Last+1 {
			t.Fatalf("%v is not in rising order with gaps between", list)
		}
		for n := r.First; n <= r.Last; n++ {
			got = append(got, n)
		}
	}
	for n := range set {
		want = append(want, n)
	}
	slices.Sort(want)
	if !slices.Equal(got, want) || count(list) != uint64(len(want)) {
		t.Fatalf("%v, want %v", list, want)
	}
}

func TestRangesAtTheEndOfTheNumbers(t *testing.T) {
	top := uint64(math.MaxUint64)
	list := addRange([]Range{{0, 3}}, Range{top - 1, top})
	if list = addRange(list, Range{4, top - 2}); !slices.Equal(list, []Range{{0, top}}) {
		t.Errorf("list is %v", list)
	}
	if n := count(list); n != top {
		t.Errorf("count is %d", n)
	}
	list, _ = removeOne(list, top)
	list, _ = removeOne(list, 0)
	if !slices.Equal(list, []Range{{1, top - 1}}) {
		t.Errorf("list is %v", list)
	}
}
