package memory

import (
	"bytes"
	"context"
	"maps"
	"slices"
	"time"

	"github.com/streamwatch/streamwatch/fleet"
)

// answers implements fleet.Answers.
type answers struct{ s *Store }

// kept has the requests in progress, and the answers to finished requests.
type kept struct {
	underWay map[requestKey]*request // requests in progress, and some whose lease has expired: see begin
	sweepAt  int                     // length of underWay at which begin removes expired requests
	answered map[requestKey]*request
	order    []*request     // the requests in answered, oldest first
	ofOwner  map[string]int // number of answered requests by owner
	bytes    int            // total length of the answers' texts
}

func newKept() kept {
	return kept{underWay: make(map[requestKey]*request), answered: make(map[requestKey]*request), ofOwner: make(map[string]int)}
}

type requestKey struct{ owner, id string }

type request struct {
	requestKey
	asked, by string
	until     time.Time // end of the lease; of an answered request, when the answer expires
	text      []byte    // of the answer
}

// Answers returns the answers to requests that clients may repeat.
func (s *Store) Answers() fleet.Answers { return answers{s} }

func (a answers) Begin(ctx context.Context, q fleet.Request) (*fleet.Answer, error) {
	s := a.s
	if err := s.lock(ctx); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	now := s.opts.Now()
	s.answers.expire(now)
	key := requestKey{q.Owner, q.ID}
	if r := s.answers.answered[key]; r != nil {
		if r.asked != q.Asked {
			return nil, fleet.ErrOtherRequest
		}
		return &fleet.Answer{By: r.by, Text: bytes.Clone(r.text)}, nil
	}
	r := s.answers.underWay[key]
	switch {
	case r == nil || !now.Before(r.until):
		s.answers.begin(&request{requestKey: key, asked: q.Asked, by: q.By, until: now.Add(q.Lease)}, now)
	case r.asked != q.Asked:
		return nil, fleet.ErrOtherRequest
	case r.by != q.By:
		return nil, fleet.ErrUnderWay
	}
	return nil, nil
}

func (a answers) Finish(ctx context.Context, q fleet.Request, text []byte) error {
	s := a.s
	if err := s.lock(ctx); err != nil {
		return err
	}
	defer s.mu.Unlock()
	key := requestKey{q.Owner, q.ID}
	if r := s.answers.answered[key]; r != nil && r.by == q.By {
		return nil
	}
	r := s.answers.underWay[key]
	if r == nil || r.by != q.By {
		return fleet.ErrNotBegun
	}
	delete(s.answers.underWay, key)
	if len(text) > 0 {
		r.text, r.until = bytes.Clone(text), s.opts.Now().Add(fleet.AnswerLast)
		s.answers.keep(r)
	}
	return nil
}

// expire removes the answers that have expired.
func (k *kept) expire(now time.Time) {
	for len(k.order) > 0 && !now.Before(k.order[0].until) {
		k.remove(k.order[0])
	}
}

// begin records a request in progress. If the number of these has doubled since the last sweep, it
// first removes those with an expired lease.
func (k *kept) begin(r *request, now time.Time) {
	if len(k.underWay) >= k.sweepAt {
		maps.DeleteFunc(k.underWay, func(_ requestKey, r *request) bool { return !now.Before(r.until) })
		k.sweepAt = max(64, 2*len(k.underWay))
	}
	k.underWay[r.requestKey] = r
}

// keep stores an answer, then removes the oldest answers while there are too many.
func (k *kept) keep(r *request) {
	k.answered[r.requestKey] = r
	k.order = append(k.order, r)
	k.ofOwner[r.owner]++
	k.bytes += len(r.text)
	if k.ofOwner[r.owner] > fleet.MaxAnswersOf {
		k.remove(k.order[slices.IndexFunc(k.order, func(o *request) bool { return o.owner == r.owner })])
	}
	for len(k.order) > fleet.MaxAnswers || k.bytes > fleet.MaxAnswerBytes {
		k.remove(k.order[0])
	}
}

// remove forgets an answer.
func (k *kept) remove(r *request) {
	i := slices.Index(k.order, r)
	k.order = slices.Delete(k.order, i, i+1)
	delete(k.answered, r.requestKey)
	k.bytes -= len(r.text)
	if k.ofOwner[r.owner]--; k.ofOwner[r.owner] == 0 {
		delete(k.ofOwner, r.owner)
	}
}

// erase removes an owner's requests and answers, and returns how many there were.
func (k *kept) erase(owner string) (n int) {
	for key := range k.underWay {
		if key.owner == owner {
			delete(k.underWay, key)
			n++
		}
	}
	for key, r := range k.answered {
		if key.owner == owner {
			k.remove(r)
			n++
		}
	}
	return n
}
