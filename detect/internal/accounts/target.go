package accounts

import "time"

// Target is what all accounts have.
type Target struct {
	name         uint32 // reference of the username, in the user's spelling
	idHigh, idLo uint32 // the account's id: see Table.UserID
	want         int32  // the first subscriber's; none when negative

	// Since is when the last complete poll began, 0 before the first; cut to
	// the second, so that reading back from it reaches further and not less far.
	Since Seconds
	// Post is when the newest post that was read was published.
	Post Seconds
	Rate Rate

	State State
	flags Flags
}

// State is what is done with an account.
type State uint8

const (
	Free State = iota // nobody watches it, and its slot may be used again
	Idle
	Polled // from a poll's start until its commit is settled
)

// Flags are facts about an account.
type Flags uint8

const (
	// Cold: the window is empty although the account was read before: what is
	// older than the overlap was dealt with by another process.
	Cold    Flags = 1 << iota
	Again         // poll it at once when the poll under way is done
	Dropped       // a post was dropped, and the log has it
	Alone         // it is not read in one call with others
	textID        // the account's id is not a number
	fresh         // of the first subscriber: see Subscriber
	covered
	shared // it has more subscribers than the first: see Table.more
)

// Is reports whether one of the flags is set.
func (t *Target) Is(f Flags) bool { return t.flags&f != 0 }

// Set sets or clears the flags.
func (t *Target) Set(f Flags, on bool) {
	if on {
		t.flags |= f
	} else {
		t.flags &^= f
	}
}

// Watched reports whether somebody subscribes to the account.
func (t *Target) Watched() bool { return t.want >= 0 }

// first is the account's first subscriber.
func (t *Target) first() Subscriber {
	return Subscriber{want: t.want, Fresh: t.Is(fresh), covered: t.Is(covered)}
}

func (t *Target) setFirst(s Subscriber) {
	t.want = s.want
	t.Set(fresh, s.Fresh)
	t.Set(covered, s.covered)
}

// Seconds is a moment, cut to the second; 0 is none.
type Seconds uint32

// ToSeconds cuts a moment to the second.
func ToSeconds(t time.Time) Seconds {
	if t.IsZero() {
		return 0
	}
	return Seconds(min(max(t.Unix(), 1), 1<<32-1))
}

// Time is the moment.
func (s Seconds) Time() time.Time {
	if s == 0 {
		return time.Time{}
	}
	return time.Unix(int64(s), 0)
}
