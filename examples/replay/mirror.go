package main

// mirror is the other side effect: a copy of the state of every charge, in a
// file with one line per write, of which the last one of a charge counts.
// Whoever writes an old state after a newer one has destroyed it; the file does
// not mind.
type mirror string

type reflection struct {
	Charge string `json:"charge"`
	Status string `json:"status"`
	Event  string `json:"event"`
}

// reflect is what an event makes of its charge.
func (d Delivery) reflect(c change) reflection {
	return reflection{Charge: d.charge(), Status: c.Status, Event: d.EventID}
}

// charge identifies a charge: senders name on their own.
func (d Delivery) charge() string { return d.Namespace + "/" + d.Entity }

func (m mirror) write(r reflection) error { return appendLine(string(m), r) }

// read returns the state of every charge.
func (m mirror) read() (map[string]reflection, error) {
	lines, err := readLines[reflection](string(m))
	states := map[string]reflection{}
	for _, r := range lines {
		states[r.Charge] = r
	}
	return states, err
}
