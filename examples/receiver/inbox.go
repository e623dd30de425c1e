package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"sync"
	"unicode"

	"github.com/streamwatch/streamwatch/deliver/receive"
)

// inbox prints each delivery once. A real service would instead write the post and the delivery's id
// to its database, in one transaction.
type inbox struct {
	mu   sync.Mutex
	out  io.Writer
	seen map[string]bool
	ring []string // ids in seen, the oldest is overwritten
	next int
}

// newInbox remembers the last max deliveries.
func newInbox(out io.Writer, max int) *inbox {
	return &inbox{out: out, seen: make(map[string]bool), ring: make([]string, max)}
}

// take is called for each request with a valid signature. If it returned an error, the delivery would
// be sent again.
func (i *inbox) take(_ context.Context, r receive.Received) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.seen[r.DeliveryID] {
		return nil
	}
	kind := "post"
	if r.Test {
		kind = "test"
	}
	if _, err := fmt.Fprintf(i.out, "%s  @%s  %s  %s  (%d ms after it was published)\n",
		kind, printable(r.AuthorUsername), printable(r.TweetText), printable(r.TweetURL), r.Latency.Milliseconds()); err != nil {
		return err
	}
	delete(i.seen, i.ring[i.next])
	i.ring[i.next], i.seen[r.DeliveryID] = r.DeliveryID, true
	i.next = (i.next + 1) % len(i.ring)
	return nil
}

// printable keeps a stranger's text from steering the terminal.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return ' '
	}, s)
}
