package cli

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Keys, owners and reasons come from outside. Shown as they are they could move
// a terminal's cursor, fake rows or hide what follows them.

// cell shows a text in a table: as it is where that is safe and unmistakable,
// else quoted with escapes. What begins with a quote is always quoted.
func cell(s string) string {
	blank := strings.HasPrefix(s, " ") || strings.HasSuffix(s, " ") || strings.Contains(s, "  ")
	if blank || strings.HasPrefix(s, `"`) || !printable(s) {
		return strconv.Quote(s)
	}
	return s
}

// oneLine shows a message: as it is, or quoted where it would not stay on its
// line.
func oneLine(s string) string {
	if !printable(s) {
		return strconv.Quote(s)
	}
	return s
}

// lines does for each line of a message what oneLine does for one.
func lines(s string) string {
	all := strings.Split(strings.TrimRight(s, "\n"), "\n")
	for i := range all {
		all[i] = oneLine(all[i])
	}
	return strings.Join(all, "\n")
}

// printable tells whether all of a text is letters, marks, numbers, punctuation,
// symbols and plain spaces: no controls, no invisible or direction-changing
// characters, no bytes that are not UTF-8.
func printable(s string) bool {
	return utf8.ValidString(s) && !strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) })
}
