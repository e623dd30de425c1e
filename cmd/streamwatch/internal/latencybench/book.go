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

// A marker is in a post's text, and is looked for in whatever arrives: a detector may
// wrap the text in any format.
var marker = regexp.MustCompile(`swb-[0-9a-f]{16}`)

// newMarker returns a random marker: nobody can report a post without having seen it.
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

// book notes what arrives, until it is closed. Its methods are safe for concurrent use.
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

// arrived notes the posts in a body that had been read at a time since start. A post arrives
// once, however often its marker is there.
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

// close puts what arrived into the record, in order. Later arrivals are not noted.
func (b *book) close(rec *record) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	slices.SortStableFunc(b.arrivals, func(x, y arrival) int { return cmp.Compare(x.at, y.at) }) // of several goroutines
	rec.arrivals, rec.overflow, rec.blank = b.arrivals, b.overflow, b.blank
}
