package latencybench

import (
	"cmp"
	"crypto/rand"
	"encoding/hex"
	"regexp"
	"slices"
	"sync"
	"time"
)

// A marker is part of a post's text. It is searched for in all data that arrives, since a detector may
// send the text in any format.
var marker = regexp.MustCompile(`swb-[0-9a-f]{16}`)

// newMarker returns a random marker. A detector cannot report a post without having read it.
func newMarker() string {
	var b [8]byte
	rand.Read(b[:])
	return "swb-" + hex.EncodeToString(b[:])
}

// Channels by which posts arrive.
const (
	channelWebhook   = "webhook"
	channelWebSocket = "websocket"
)

// book records arrivals until it is closed. Its methods are safe for concurrent use.
type book struct {
	start time.Time // with a monotonic reading

	mu       sync.Mutex
	arrivals []arrival
	blank    map[string]int // bodies without a marker, by channel
	overflow int            // arrivals beyond maxArrivals
	closed   bool
}

func newBook() *book { return &book{start: time.Now(), blank: map[string]int{}} }

// since returns the time since start, by the runner's monotonic clock.
func (b *book) since() time.Duration { return time.Since(b.start) }

// arrived records the posts in a body that was read at time at since start. A post arrives only once in
// a body, even if its marker occurs several times.
func (b *book) arrived(at time.Duration, channel string, body []byte, signature, delivery string) {
	seen := map[string]bool{}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return
	}
	for _, m := range marker.FindAll(body, -1) {
		switch {
		case seen[string(m)]:
			continue
		case len(b.arrivals) == maxArrivals:
			b.overflow++
			continue
		}
		seen[string(m)] = true
		b.arrivals = append(b.arrivals, arrival{at, channel, string(m), signature, delivery[:min(len(delivery), 200)]})
	}
	if len(seen) == 0 {
		b.blank[channel]++
	}
}

// count returns how many arrivals there are.
func (b *book) count() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.arrivals)
}

// close adds the arrivals to the record, in order. Later arrivals are not recorded.
func (b *book) close(rec *record) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	slices.SortStableFunc(b.arrivals, func(x, y arrival) int { return cmp.Compare(x.at, y.at) }) // of several goroutines
	rec.arrivals, rec.overflow, rec.blank = b.arrivals, b.overflow, b.blank
}
