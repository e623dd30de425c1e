package accounts

import (
	"time"

	"github.com/streamwatch/streamwatch/detect/internal/poll"
)

// account is the state of an account. There may be millions of accounts, so it is small. Many
// accounts share a source, so it has the source's number. State that few accounts have is in more
// and in poll.Target.
type account struct {
	poll.Target
	more    *more  // nil for one subscriber without streamed posts
	id      uint64 // id on the platform: a number or, with textID, a reference to names
	version uint64 // version of the last first page with all posts dealt with, 0 for none
	name    uint32 // reference to the username, in the user's spelling
	want    int32  // index of the first subscriber's want; negative if there is none
	// since is when the last complete poll began, 0 before the first. It is rounded down to the
	// second, because reading back too far is safe.
	since seconds
	post  seconds // publication time of the newest post that was read
	from  seconds // since when a stream covers the account; 0 if none does
	found seconds // the journal's Since, for an account added with Subscription.Shared
	rate  Rate
	flags flags
}

// more is state that few accounts have.
type more struct {
	subs  []Subscriber // all but the first
	posts []time.Time  // publication times of streamed posts since the last whole poll
}

// flags are boolean properties of an account.
type flags uint16

const (
	// cold is set while another process has read the account and this process has not. The window
	// is empty. The other process has handled posts older than the overlap.
	cold     flags = 1 << iota
	again          // poll again immediately after the poll under way
	textID         // the account's id is not a number
	fresh          // Subscriber.Fresh of the first subscriber
	covered        // Subscriber.covered of the first subscriber
	rewound        // rewindFor has moved since back, and the account was not read after that
	audited        // the schedule polls the account at AuditEvery
	unlisted       // during Pushed.Cover: the stream has not named the account so far
	free           // the slot is free for reuse
)

// is reports whether one of the given flags is set.
func (t *account) is(f flags) bool { return t.flags&f != 0 }

// set sets or clears the given flags.
func (t *account) set(f flags, on bool) {
	if on {
		t.flags |= f
	} else {
		t.flags &^= f
	}
}

// first returns the account's first subscriber.
func (t *account) first() Subscriber {
	return Subscriber{want: t.want, Fresh: t.is(fresh), covered: t.is(covered)}
}

func (t *account) setFirst(s Subscriber) {
	t.want, t.Watched = s.want, true
	t.set(fresh, s.Fresh)
	t.set(covered, s.covered)
}

// subs returns all subscribers but the first.
func (t *account) subs() []Subscriber {
	if t.more == nil {
		return nil
	}
	return t.more.subs
}

// posts returns the publication times of the posts streamed since the last whole poll.
func (t *account) posts() []time.Time {
	if t.more == nil {
		return nil
	}
	return t.more.posts
}

// setMore sets the results of subs and posts.
func (t *account) setMore(subs []Subscriber, posts []time.Time) {
	switch {
	case len(subs) == 0 && len(posts) == 0:
		t.more = nil
	case t.more == nil:
		t.more = &more{subs, posts}
	default:
		t.more.subs, t.more.posts = subs, posts
	}
}

// seconds is a time in Unix seconds; 0 means none.
type seconds uint32

// toSeconds rounds a time down to the second.
func toSeconds(t time.Time) seconds {
	if t.IsZero() {
		return 0
	}
	return seconds(min(max(t.Unix(), 1), 1<<32-1))
}

// time returns the time, zero for none.
func (s seconds) time() time.Time {
	if s == 0 {
		return time.Time{}
	}
	return time.Unix(int64(s), 0)
}

// slab holds the accounts by slot. It grows by chunks that never move: growth copies nothing, and
// pointers to accounts stay valid.
type slab struct {
	chunks []*[chunkSize]account
	size   int32 // number of slots ever used
	free   []int32
}

const chunkSize = 1024

func (s *slab) at(slot int32) *account { return &s.chunks[slot/chunkSize][slot%chunkSize] }

// take returns a free slot.
func (s *slab) take() (slot int32) {
	if n := len(s.free); n > 0 {
		slot, s.free = s.free[n-1], s.free[:n-1]
		return slot
	}
	slot = s.size
	s.size++
	if int(slot) == len(s.chunks)*chunkSize {
		s.chunks = append(s.chunks, new([chunkSize]account))
	}
	return slot
}
