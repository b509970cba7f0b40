package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

// printJSON prints a message as one line. Fields without a value are there too,
// so that every line has the same ones; only messages that are not set are not.
func (s *session) printJSON(m proto.Message) error {
	b, err := protojson.MarshalOptions{EmitDefaultValues: true}.Marshal(m)
	if err != nil {
		return err
	}
	var line bytes.Buffer
	if err := json.Compact(&line, b); err != nil { // protojson's own spaces vary
		return err
	}
	_, err = s.stdout.Write(append(escapeJSON(line.Bytes()), '\n'))
	return err
}

// escapeJSON writes what is not printable as escapes, because JSON is shown on
// terminals too. Outside of strings there is nothing of the kind.
func escapeJSON(line []byte) (out []byte) {
	for _, r := range string(line) {
		if unicode.IsPrint(r) {
			out = utf8.AppendRune(out, r)
			continue
		}
		for _, unit := range utf16.Encode([]rune{r}) {
			out = fmt.Appendf(out, `\u%04x`, unit)
		}
	}
	return out
}

// print shows the answer to a call: as it is, or the sentence made of it.
func (s *session) print(m proto.Message, sentence string) error {
	if s.json {
		return s.printJSON(m)
	}
	_, err := fmt.Fprintln(s.stdout, sentence)
	return err
}

// table is rows under a header. Columns that are empty in every row are left
// out.
type table struct {
	header []string
	rows   [][]string
}

// printTable prints a table, its cells made safe.
func (s *session) printTable(t *table) error {
	var b bytes.Buffer
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for i, row := range append([][]string{t.header}, t.rows...) {
		var cells []string
		for column, text := range row {
			if i > 0 {
				text = cell(text)
			}
			if t.used(column) {
				cells = append(cells, text)
			}
		}
		fmt.Fprintln(w, strings.Join(cells, "\t"))
	}
	w.Flush()
	_, err := s.stdout.Write(trimLines(b.Bytes()))
	return err
}

func (t *table) used(column int) bool {
	return slices.ContainsFunc(t.rows, func(row []string) bool { return row[column] != "" })
}

// trimLines removes the spaces that pad empty cells at the end of rows.
func trimLines(b []byte) (out []byte) {
	for line := range bytes.Lines(b) {
		out = append(append(out, bytes.TrimRight(line, " \n")...), '\n')
	}
	return out
}
