package enginehttp

import (
	"container/list"
	"crypto/sha256"
	"net/http"
	"sync"
	"time"
)

const (
	maxIdempotencyKey = 255 // bytes
	// Answers are kept for keptFor, at most keptAnswers of them with keptBytes in
	// all, and at most keptOfOwner of one owner, so that one owner cannot displace
	// all answers of the others. The oldest is removed first.
	keptFor     = 24 * time.Hour
	keptAnswers = 10_000
	keptOfOwner = 1_000
	keptBytes   = 64 << 20
)

// repeats keeps the answers to requests with an Idempotency-Key, in memory.
type repeats struct {
	mu      sync.Mutex
	byKey   map[repeatKey]*repeat
	order   list.List // of *repeat with an answer, the oldest in front
	ofOwner map[string]int
	bytes   int
}

type repeatKey struct{ owner, route, key string }

// repeat is a request with an Idempotency-Key, under way or answered.
type repeat struct {
	repeatKey
	asked   [sha256.Size]byte // of path and body
	answer  reply             // its status is 0 while the request is under way
	until   time.Time
	charged bool
	paying  chan struct{} // closed when the request ends that is charged; nil while none is
	place   *list.Element // in order; nil until there is an answer
}

func newRepeats() *repeats {
	return &repeats{byKey: map[repeatKey]*repeat{}, ofOwner: map[string]int{}}
}

// begin returns the repeat of a key: a new one, or the one of the first request,
// with its answer. It is an error if that request is under way, or was another one. While
// the answer is charged to another request, wait is closed when that has ended; begin has
// to be called again then. Otherwise the caller is charged, unless charged is set, and has
// to call end.
func (s *repeats) begin(k repeatKey, asked [sha256.Size]byte, now time.Time) (r *repeat, wait <-chan struct{}, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.expire(now)
	r = s.byKey[k]
	switch {
	case r == nil:
		r = &repeat{repeatKey: k, asked: asked}
		s.byKey[k] = r
	case r.asked != asked:
		return nil, nil, &failure{status: http.StatusUnprocessableEntity, text: "Idempotency-Key was used for another request: want a new key for each request, the same only to repeat one"}
	case r.answer.status == 0:
		return nil, nil, &failure{status: http.StatusConflict, text: "a request with this Idempotency-Key is under way: try again for its answer", retry: time.Second}
	case r.paying != nil:
		return nil, r.paying, nil
	}
	if !r.charged {
		r.paying = make(chan struct{})
	}
	return r, nil, nil
}

// keep stores the answer, and removes the oldest ones beyond the bounds.
func (s *repeats) keep(r *repeat, answer reply, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r.answer, r.until = answer, now.Add(keptFor)
	r.place = s.order.PushBack(r)
	s.ofOwner[r.owner]++
	s.bytes += len(answer.text)
	if s.ofOwner[r.owner] > keptOfOwner {
		for e := s.order.Front(); e != nil; e = e.Next() {
			if old := e.Value.(*repeat); old.owner == r.owner {
				s.remove(old)
				break
			}
		}
	}
	for s.order.Len() > keptAnswers || s.bytes > keptBytes {
		s.remove(s.order.Front().Value.(*repeat))
	}
}

// end ends a request. The key is forgotten if it got no answer to keep.
func (s *repeats) end(r *repeat) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.paying != nil {
		close(r.paying)
		r.paying = nil
	}
	if r.answer.status == 0 && s.byKey[r.repeatKey] == r {
		delete(s.byKey, r.repeatKey)
	}
}

// paid notes that the answer was charged: repetitions cost nothing from now on.
func (s *repeats) paid(r *repeat) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r.charged = true
}

func (s *repeats) isPaid(r *repeat) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return r.charged
}

func (s *repeats) expire(now time.Time) {
	for e := s.order.Front(); e != nil && !now.Before(e.Value.(*repeat).until); e = s.order.Front() {
		s.remove(e.Value.(*repeat))
	}
}

func (s *repeats) remove(r *repeat) {
	s.order.Remove(r.place)
	delete(s.byKey, r.repeatKey)
	s.bytes -= len(r.answer.text)
	if s.ofOwner[r.owner]--; s.ofOwner[r.owner] == 0 {
		delete(s.ofOwner, r.owner)
	}
}

// repeated returns the repeat of a request with an Idempotency-Key, or nil if it has
// none or the route does not heed it. Two requests are the same if their paths and
// bodies are, byte by byte.
func (h *Handler) repeated(c *call, rt *route) (*repeat, error) {
	sent := c.Header.Values("Idempotency-Key")
	if !rt.once || len(sent) == 0 {
		return nil, nil
	}
	ok := len(sent) == 1 && sent[0] != "" && len(sent[0]) <= maxIdempotencyKey
	for i := 0; ok && i < len(sent[0]); i++ {
		ok = sent[0][i] > ' ' && sent[0][i] <= '~'
	}
	if !ok {
		return nil, refused("Idempotency-Key", sent[0], "one of 1 to 255 visible ASCII characters")
	}
	asked := sha256.Sum256(append([]byte(c.URL.Path+"\n"), c.body...))
	for {
		again, wait, err := h.repeats.begin(repeatKey{c.who.Owner, rt.name, sent[0]}, asked, time.Now())
		if wait == nil {
			return again, err
		}
		select {
		case <-wait:
		case <-c.Context().Done():
			return nil, c.Context().Err()
		}
	}
}
