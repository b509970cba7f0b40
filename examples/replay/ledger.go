package main

// ledger is the side effect: a file with one line per credit. Whoever appends
// the same event twice has paid twice; the file does not mind.
type ledger string

type credit struct {
	Event string `json:"event"`
	Cents int64  `json:"cents"`
	Token int64  `json:"token"` // the attempt's fencing token
}

func (l ledger) append(c credit) error { return appendLine(string(l), c) }

// read returns every credit so far.
func (l ledger) read() ([]credit, error) { return readLines[credit](string(l)) }

// has reports whether the event was credited.
func (l ledger) has(event string) (bool, error) {
	credits, err := l.read()
	for _, c := range credits {
		if c.Event == event {
			return true, err
		}
	}
	return false, err
}
