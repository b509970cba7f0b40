package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
)

// ledger is the side effect: a file with one line per credit. Whoever appends
// the same event twice has paid twice; the file does not mind.
type ledger string

type credit struct {
	Event string `json:"event"`
	Cents int64  `json:"cents"`
	Token int64  `json:"token"` // the attempt's fencing token
}

// append writes one credit, in one write at the file's end, and makes it last.
func (l ledger) append(c credit) error {
	line, err := json.Marshal(c)
	if err != nil {
		return err
	}
	file, err := os.OpenFile(string(l), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = file.Write(append(line, '\n'))
	return errors.Join(err, file.Sync(), file.Close())
}

// read returns every credit so far.
func (l ledger) read() ([]credit, error) {
	file, err := os.Open(string(l))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer file.Close()
	var credits []credit
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		var c credit
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			return nil, err
		}
		credits = append(credits, c)
	}
	return credits, lines.Err()
}

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
