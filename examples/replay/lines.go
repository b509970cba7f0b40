package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
)

// appendLine writes one line of JSON at a file's end, in one write, and makes it
// last.
func appendLine(name string, v any) error {
	line, err := json.Marshal(v)
	if err != nil {
		return err
	}
	file, err := os.OpenFile(name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = file.Write(append(line, '\n'))
	return errors.Join(err, file.Sync(), file.Close())
}

// readLines returns every line so far.
func readLines[T any](name string) ([]T, error) {
	file, err := os.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer file.Close()
	var out []T
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		var v T
		if err := json.Unmarshal(lines.Bytes(), &v); err != nil {
			return nil, err
		}
		out = append(out, v)
	}
	return out, lines.Err()
}
