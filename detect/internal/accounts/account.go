package accounts

import (
	"time"

	"github.com/streamwatch/streamwatch/detect/internal/poll"
)

// account is the state of an account. There may be millions of them: a source that many
// share is a number, and what few have is in more and in poll.Target.
type account struct {
	poll.Target
	more    *more  // nil for one subscriber without posts from a stream
	id      uint64 // on the platform: a number, or with textID a reference to names
	version uint64 // of the last first page whose posts were all dealt with, 0 for none
	name    uint32 // reference to the username, in the user's spelling
	want    int32  // index of the first subscriber's want; negative for none
	// since is when the last complete poll began, 0 before the first. It is rounded down
	// to the second: a poll reads back too far rather than too little.
	since seconds
	post  seconds // publication of the newest post that was read
	from  seconds // since when a stream brings the account's posts; 0 when it does not
	found seconds // since in the journal, of an account added with Subscription.Shared
	rate  Rate
	flags flags
}

// more is what few accounts have.
type more struct {
	subs  []Subscriber // beyond the first
	posts []time.Time  // publication of the posts that a stream has brought since the last whole poll
}

// flags are facts about an account.
type flags uint16

const (
	// cold: another process has read the account, and this process not yet. The window is
	// empty, and posts older than the overlap were dealt with.
	cold     flags = 1 << iota
	again          // to be polled again at once after the poll under way
	textID         // the account's id is not a number
	fresh          // of the first subscriber, as covered is: see Subscriber
	covered        //
	rewound        // rewindFor has moved since back, and the account was not read after that
	audited        // the schedule has the account polled at AuditEvery
	unlisted       // during Pushed.Cover: the stream did not name it yet
	free           // the slot may be used again
)

// is reports whether one of the flags is set.
func (t *account) is(f flags) bool { return t.flags&f != 0 }

// set sets or clears the flags.
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

// subs returns the subscribers beyond the first.
func (t *account) subs() []Subscriber {
	if t.more == nil {
		return nil
	}
	return t.more.subs
}

// posts returns the publication times of the posts that a stream has brought since the last
// whole poll.
func (t *account) posts() []time.Time {
	if t.more == nil {
		return nil
	}
	return t.more.posts
}

// setMore replaces what subs and posts return.
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

// seconds is a moment in Unix seconds; 0 is none.
type seconds uint32

// toSeconds rounds a moment down to the second.
func toSeconds(t time.Time) seconds {
	if t.IsZero() {
		return 0
	}
	return seconds(min(max(t.Unix(), 1), 1<<32-1))
}

// time returns the moment, zero for none.
func (s seconds) time() time.Time {
	if s == 0 {
		return time.Time{}
	}
	return time.Unix(int64(s), 0)
}

// slab has the accounts by slot. It grows in chunks, which never move: growth copies nothing,
// and pointers to accounts stay valid.
type slab struct {
	chunks []*[chunkSize]account
	size   int32 // slots ever used
	free   []int32
}

const chunkSize = 1024

func (s *slab) at(slot int32) *account { return &s.chunks[slot/chunkSize][slot%chunkSize] }

// take returns a slot that is free.
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
