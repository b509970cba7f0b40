package redistest

import (
	"bufio"
	"errors"
	"io"
	"strconv"
	"strings"
)

var errNoCommand = errors.New("not a command in RESP")

// readCommand reads one command as clients send it, an array of bulk strings,
// and gives its bytes and its name in lower case.
func readCommand(in *bufio.Reader) (raw []byte, name string, err error) {
	line, words, err := readHeader(in, '*')
	raw = append(raw, line...)
	for i := 0; err == nil && i < words; i++ {
		var size int
		if line, size, err = readHeader(in, '$'); err != nil {
			break
		}
		word := make([]byte, size+len("\r\n"))
		if _, err = io.ReadFull(in, word); err != nil {
			break
		}
		raw = append(append(raw, line...), word...)
		if i == 0 {
			name = strings.ToLower(string(word[:size]))
		}
	}
	return raw, name, err
}

// readHeader reads a line such as *3 or $7.
func readHeader(in *bufio.Reader, kind byte) (line []byte, n int, err error) {
	line, err = in.ReadBytes('\n')
	if err != nil {
		return nil, 0, err
	}
	if line[0] != kind {
		return nil, 0, errNoCommand
	}
	n, err = strconv.Atoi(strings.TrimSpace(string(line[1:])))
	return line, n, err
}
