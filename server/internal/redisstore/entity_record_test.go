package redisstore

import (
	"testing"

	"github.com/onceward/onceward/server/internal/onceward"
)

// FuzzDecodeEntity holds that no bytes make the decoder panic, and that what it
// accepts is an entity that could be.
func FuzzDecodeEntity(f *testing.F) {
	plain := "\x01\x41\x00\x00\x00\x00\x00\x01\x09\x01\x00\x00\x00\x00\x00\x00\x00\x07\x08requestx\x00\x02ev\x00"
	f.Add("")
	f.Add(plain)
	f.Add(plain[:20])
	f.Add("\x01\x45" + plain[2:] + "\x04\x00\x00\x00\x00\x00\x01\x01n\x00\x00\x01e\x00\x10" + "\x00\x00\x00\x00\x00\x00\x00\x02\x00\x00\x00\x00\x00\x00\x00\x04")
	f.Fuzz(func(t *testing.T, record string) {
		e, err := decodeEntity(record)
		if err == nil && e.Open == 0 && (len(e.Missing) > 0 || !e.FlaggedAt.IsZero()) {
			t.Errorf("%q reads as %+v", record, e)
		}
	})
}

func TestDecodeEntityReadsWhatScriptsWrite(t *testing.T) {
	record := "\x01\x45\x00\x00\x00\x00\x00\x01\x09\x01\x00\x00\x00\x00\x00\x00\x00\x07\x08requestx\x00\x02ev\x00" +
		"\x04\x00\x00\x00\x00\x00\x02\x01n\x01c\x00\x01e\x00\x10\x00\x00\x00\x00\x00\x00\x00\x02\x00\x00\x00\x00\x00\x00\x00\x04"
	e, err := decodeEntity(record)
	if err != nil {
		t.Fatal(err)
	}
	want := onceward.Version{Kind: onceward.Sequence, Sequence: 7}
	if e.Version != want || e.EventID != "ev" || e.AppliedAt.UnixMilli() != 1 || e.FlaggedAt.UnixMilli() != 2 ||
		e.Reason != onceward.FlagGap || e.EntityID != (onceward.EntityID{Namespace: "n", Consumer: "c", Entity: "e"}) ||
		len(e.Missing) != 1 || e.Missing[0] != (onceward.Range{First: 2, Last: 4}) {
		t.Errorf("entity is %+v", e)
	}
	for i := range record {
		if e, err := decodeEntity(record[:i]); err == nil && i > 0 {
			t.Errorf("cut to %d bytes it reads as %+v", i, e)
		}
	}
}
