package cli

import (
	"cmp"
	"context"
	"flag"
	"fmt"

	"google.golang.org/protobuf/proto"
)

// pageSize keeps a page of the longest keys, entities and reasons well below
// the largest message that a gRPC client takes.
const pageSize = 200

// list is how to read and show a list of Ts.
type list[T proto.Message] struct {
	limit int // at most this many; 0: all
	fetch func(ctx context.Context, size int32, token string) (items []T, next string, err error)

	header []string
	row    func(T) []string
	none   string // instead of a table without rows
}

func (l *list[T]) flags(fs *flag.FlagSet, limit int) {
	fs.IntVar(&l.limit, "limit", limit, "`number` of lines at most; 0: all of them")
}

// run reads and shows the list. JSON is written as the pages come. What a table
// has got before an error is shown.
func (l *list[T]) run(ctx context.Context, s *session) error {
	if l.limit < 0 {
		return usageError("-limit must not be negative")
	}
	if s.json {
		_, err := l.each(ctx, s, func(item T) error { return s.printJSON(item) })
		return err
	}
	t := table{header: l.header}
	more, err := l.each(ctx, s, func(item T) error {
		t.rows = append(t.rows, l.row(item))
		return nil
	})
	if len(t.rows) > 0 {
		err = cmp.Or(s.printTable(&t), err)
	} else if err == nil {
		_, err = fmt.Fprintln(s.stdout, l.none)
	}
	if more {
		fmt.Fprintf(s.stderr, "There are more: -limit is %d.\n", l.limit)
	}
	return err
}

// each reads page by page, until the end or the limit, and tells whether there
// is more. Pages may be short, and empty ones need not be the last.
func (l *list[T]) each(ctx context.Context, s *session, show func(T) error) (more bool, err error) {
	for left, token := l.limit, ""; ; {
		items, next, err := l.page(ctx, s, left, token)
		if err != nil {
			return false, err
		}
		for _, item := range items {
			if err := show(item); err != nil {
				return false, err
			}
		}
		left -= len(items)
		if next == "" || l.limit > 0 && left <= 0 {
			return next != "", nil
		}
		token = next
	}
}

func (l *list[T]) page(ctx context.Context, s *session, left int, token string) ([]T, string, error) {
	ctx, cancel := s.call(ctx)
	defer cancel()
	size := pageSize
	if l.limit > 0 {
		size = min(size, left)
	}
	return l.fetch(ctx, int32(size), token)
}
