package main

import (
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
)

// spread is the middle of several measurements, and how far they lie apart.
type spread struct{ Median, Least, Most float64 }

func spreadOf(values []float64) spread {
	v := slices.Sorted(slices.Values(values))
	if len(v) == 0 {
		return spread{}
	}
	return spread{(v[(len(v)-1)/2] + v[len(v)/2]) / 2, v[0], v[len(v)-1]}
}

// ratio compares two scenarios round by round.
func ratio(all []series, over, under string, of func(*sample) float64) spread {
	a, b := find(all, over), find(all, under)
	var out []float64
	for i := range min(len(a), len(b)) {
		out = append(out, of(&a[i])/of(&b[i]))
	}
	return spreadOf(out)
}

func find(all []series, name string) []sample {
	for _, s := range all {
		if s.Name == name {
			return s.Samples
		}
	}
	return nil
}

func rate(s *sample) float64 { return s.PerSecond }
func cpu(s *sample) float64  { return s.CPU }
func p50(s *sample) float64  { return s.P50.Seconds() }
func p99(s *sample) float64  { return s.P99.Seconds() }
func p999(s *sample) float64 { return s.P999.Seconds() }

// median is that of all rounds.
func (s *series) median(of func(*sample) float64) float64 {
	var v []float64
	for i := range s.Samples {
		v = append(v, of(&s.Samples[i]))
	}
	return spreadOf(v).Median
}

// bound is what a figure must reach, and what it was.
type bound struct {
	What string
	Is   spread
	Met  bool
}

func atLeast(what string, least float64, is spread) bound {
	return bound{fmt.Sprintf("%s at least %g", what, least), is, is.Median >= least}
}

func atMost(what string, most float64, is spread) bound {
	return bound{fmt.Sprintf("%s at most %g", what, most), is, is.Median <= most && is.Median > 0} // 0 was not measured
}

func bounds(all []series) []bound {
	return []bound{
		atLeast("claims to echoes", 0.60, ratio(all, "claim", "echo", rate)),
		atLeast("claims to the naive service's", 1.8, ratio(all, "claim", "naive", rate)),
		atMost("CPU of a claim, service and Redis, to the naive service's", 0.42, ratio(all, "claim", "naive", cpu)),
		atLeast("duplicates to echoes", 0.65, ratio(all, "duplicate", "echo", rate)),
		atLeast("duplicates of few keys to echoes", 0.85, ratio(all, "storm", "echo", rate)),
		atMost("p99 of a claim to an echo's, 16 callers", 2, ratio(all, "claim@16", "echo@16", p99)),
		atLeast("batches of 100 to the naive service", 10, ratio(all, "batch100", "naive", rate)),
		atLeast("batches of 1000 to the naive service", 15, ratio(all, "batch1000", "naive", rate)),
		atMost("CPU in batches of 100, service and Redis, to the naive service's", 0.12, ratio(all, "batch100", "naive", cpu)),
		atLeast("a stream to the naive service", 7, ratio(all, "stream", "naive", rate)),
		atLeast("echoes to those without interceptors", 0.95, ratio(all, "echo", "bare", rate)),
		atMost("claims to pairs of claim and completion", 2.1, ratio(all, "claim", "pair", rate)),
	}
}

func printBounds(w io.Writer, all []bound) {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, b := range all {
		met := "met"
		if !b.Met {
			met = "NOT MET"
		}
		fmt.Fprintf(t, "%s\t%.2f\t(%.2f to %.2f)\t%s\n", b.What, b.Is.Median, b.Is.Least, b.Is.Most, met)
	}
	t.Flush()
}

// printTable prints medians over the rounds; ratios are taken within each round.
func printTable(w io.Writer, all []series) {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "scenario\tper second\tto echo\tto naive\tp50\tp99\tp99.9\tservice us\tRedis us\tload us\t")
	for _, s := range all {
		ms := func(of func(*sample) float64) string { return fmt.Sprintf("%.2f ms", 1000*s.median(of)) }
		fmt.Fprintf(t, "%s\t%.0f\t%.2f\t%.2f\t%s\t%s\t%s\t%.1f\t%.1f\t%.1f\t\n", s.Name, s.median(rate),
			ratio(all, s.Name, "echo", rate).Median, ratio(all, s.Name, "naive", rate).Median, ms(p50), ms(p99), ms(p999),
			s.median(func(s *sample) float64 { return s.ServiceCPU }), s.median(func(s *sample) float64 { return s.RedisCPU }), s.median(func(s *sample) float64 { return s.OwnCPU }))
	}
	t.Flush()
	fmt.Fprintln(w)
}
