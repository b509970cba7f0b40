package main

import (
	"fmt"
	"math"
	"strings"
)

const (
	plotLeft, plotWidth, rowHeight = 170, 300, 22
	plotGap                        = 60
)

// plot draws, for each scenario, its rate as a multiple of the echo's, and its
// p50 and p99, on a logarithmic scale from 0.1 ms to 1 s.
func plot(all []series) string {
	var b strings.Builder
	right := plotLeft + plotWidth + plotGap
	height := 50 + rowHeight*len(all)
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" font-family="sans-serif" font-size="12">`+"\n", right+plotWidth+80, height)
	fmt.Fprintf(&b, `<rect width="100%%" height="100%%" fill="white"/>`+"\n")
	text(&b, plotLeft, 20, "start", "decisions, multiple of echo")
	text(&b, right, 20, "start", "latency: p50 to p99")
	largest := 1.0
	for _, s := range all {
		largest = max(largest, ratio(all, s.Name, "echo", rate).Median)
	}
	for i, s := range all {
		y := 40 + rowHeight*i
		r := ratio(all, s.Name, "echo", rate).Median
		text(&b, plotLeft-8, y+12, "end", s.Name)
		bar(&b, plotLeft, y, r/largest*plotWidth, "#4878a8")
		text(&b, plotLeft+int(r/largest*plotWidth)+4, y+12, "start", fmt.Sprintf("%.2f", r))
		low, high := s.median(p50), s.median(p99)
		from, to := position(low), position(high)
		bar(&b, right+int(from), y, max(2, to-from), "#c08040")
		text(&b, right+int(to)+4, y+12, "start", fmt.Sprintf("%.1f to %.1f ms", low*1000, high*1000))
	}
	b.WriteString("</svg>\n")
	return b.String()
}

// position is where a latency lies on the scale.
func position(seconds float64) float64 {
	decades := math.Log10(max(seconds, 0.0001) / 0.0001)
	return min(decades/4, 1) * plotWidth
}

func bar(b *strings.Builder, x, y int, width float64, colour string) {
	fmt.Fprintf(b, `<rect x="%d" y="%d" width="%.1f" height="%d" fill="%s"/>`+"\n", x, y, width, rowHeight-6, colour)
}

func text(b *strings.Builder, x, y int, anchor, s string) {
	fmt.Fprintf(b, `<text x="%d" y="%d" text-anchor="%s">%s</text>`+"\n", x, y, anchor, s)
}
