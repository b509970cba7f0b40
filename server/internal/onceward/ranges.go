package onceward

// Range is a run of missing sequences, both ends included.
type Range struct{ First, Last uint64 }

// maxRanges is how many ranges an entity keeps; beyond, the highest are dropped
// and the list says that it is truncated.
const maxRanges = 32

// addRange gives the rising list with r in it.
func addRange(list []Range, r Range) []Range {
	var out []Range
	for i, have := range list {
		switch {
		case have.Last < r.First && r.First-have.Last > 1:
			out = append(out, have)
		case r.Last < have.First && have.First-r.Last > 1:
			return append(append(out, r), list[i:]...)
		default: // they meet
			r = Range{min(r.First, have.First), max(r.Last, have.Last)}
		}
	}
	return append(out, r)
}

// removeUpTo gives the list without what is at or below n.
func removeUpTo(list []Range, n uint64) []Range {
	var out []Range
	for _, r := range list {
		if r.Last > n {
			out = append(out, Range{max(r.First, n+1), r.Last})
		}
	}
	return out
}

// removeOne gives the list without n, and tells whether it was there.
func removeOne(list []Range, n uint64) (out []Range, found bool) {
	for _, r := range list {
		if n < r.First || n > r.Last {
			out = append(out, r)
			continue
		}
		found = true
		if n > r.First {
			out = append(out, Range{r.First, n - 1})
		}
		if n < r.Last {
			out = append(out, Range{n + 1, r.Last})
		}
	}
	return out, found
}

// count is how many sequences the list holds; the largest uint64 stands for
// more.
func count(list []Range) (n uint64) {
	for _, r := range list {
		size := r.Last - r.First + 1
		if size == 0 || n+size < n {
			return 1<<64 - 1
		}
		n += size
	}
	return n
}
