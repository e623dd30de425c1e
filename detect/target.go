package detect

import (
	"strconv"
	"time"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/rule/query"
)

// target is what is polled: one account, once for all monitors that track it.
// There may be millions, so it has no pointers and what few targets have is
// kept elsewhere, by slot. Its shard owns it.
type target struct {
	name         uint32 // reference of the username, in the user's spelling
	idHigh, idLo uint32 // the account's id: see shard.userID
	want         int32  // the first subscriber's; none when negative

	// since is when the last complete poll began, 0 before the first; cut to
	// the second, so that reading back from it reaches further and not less far.
	since unixSeconds
	// post is when the newest post that was read was published.
	post unixSeconds
	rate logRate

	state targetState
	flags targetFlags
}

type targetState uint8

const (
	free targetState = iota
	idle
	fetching
	committing
)

type targetFlags uint8

const (
	// cold: the window is empty although the target was read before: what is
	// older than the overlap was dealt with by another process.
	cold    targetFlags = 1 << iota
	again               // poll at once when the poll under way is done
	dropped             // a post was dropped, and the log has it
	textID              // the account's id is not a number
	fresh               // of the first subscriber: see subscriber
	covered
	shared // more subscribers than the first: see shard.more
	alone  // not in one call with others
)

func (t *target) is(f targetFlags) bool { return t.flags&f != 0 }

func (t *target) set(f targetFlags, on bool) {
	if on {
		t.flags |= f
	} else {
		t.flags &^= f
	}
}

// unixSeconds is a moment, cut to the second; 0 is none.
type unixSeconds uint32

func toSeconds(t time.Time) unixSeconds {
	if t.IsZero() {
		return 0
	}
	return unixSeconds(min(max(t.Unix(), 1), 1<<32-1))
}

func (s unixSeconds) time() time.Time {
	if s == 0 {
		return time.Time{}
	}
	return time.Unix(int64(s), 0)
}

// subscriber is one source's interest in a target.
type subscriber struct {
	want int32
	// fresh means that the window may know posts this subscriber has not got:
	// it takes them too, until one whole poll has covered it.
	fresh, covered bool
}

// want is a source and since when it watches; most accounts of a source have
// it in common.
type want struct {
	source   *source
	since    time.Time
	interval time.Duration // the source's, beside what a poll reads anyway
	refs     int
	at       int // in source.wants
}

// source is a subscription on its shard.
type source struct {
	deliver.Source
	interval time.Duration
	weight   float64
	match    func(*fetcher.Tweet) bool
	program  *query.Program // of a rule, in place of match; it is in shard.answers
	asked    uint64         // the last post that it answers, by shard.asked
	slots    slotSet        // its targets here
	wants    []int32        // its wants
}

// trouble follows the failures of a target's polls, while there are any.
type trouble struct {
	failures int       // polls and commits that failed in a row
	due      time.Time // when the first of them was due
	count    int       // polls that failed in a row
	first    time.Time
	err      error
	reported bool // to whose they are
	logged   bool
}

// Errors are reported when they came this often, over this long.
const (
	troubleCount = 3
	troubleAfter = 10 * time.Minute
)

// first is a target's first subscriber.
func (t *target) first() subscriber { return subscriber{t.want, t.is(fresh), t.is(covered)} }

func (t *target) setFirst(s subscriber) {
	t.want = s.want
	t.set(fresh, s.fresh)
	t.set(covered, s.covered)
}

// eachSub calls fn for each subscriber of a target.
func (sh *shard) eachSub(slot int32, fn func(subscriber)) {
	t := sh.targets.at(slot)
	if t.want < 0 {
		return
	}
	fn(t.first())
	if t.is(shared) {
		for _, s := range sh.more[slot] {
			fn(s)
		}
	}
}

// changeSubs puts in place of each subscriber what fn makes of it.
func (sh *shard) changeSubs(slot int32, fn func(subscriber) subscriber) {
	t := sh.targets.at(slot)
	if t.want < 0 {
		return
	}
	t.setFirst(fn(t.first()))
	if t.is(shared) {
		more := sh.more[slot]
		for i := range more {
			more[i] = fn(more[i])
		}
	}
}

// anyFresh reports whether posts the window knows may still be news.
func (sh *shard) anyFresh(slot int32) (any bool) {
	sh.eachSub(slot, func(s subscriber) { any = any || s.fresh })
	return any
}

// interval is the shortest that a subscriber of the target wishes; 0 when none
// wishes any.
func (sh *shard) interval(slot int32) (shortest time.Duration) {
	sh.eachSub(slot, func(s subscriber) {
		if iv := sh.wants[s.want].interval; iv > 0 && (shortest == 0 || iv < shortest) {
			shortest = iv
		}
	})
	return shortest
}

// cutoff is how far back the next poll must read: to the overlap before the
// last complete poll, and for a fresh subscriber to its beginning; never
// further than somebody wants. After a start all are fresh, and what lies
// before the overlap was dealt with by the process before.
func (sh *shard) cutoff(slot int32, overlap time.Duration) time.Time {
	t := sh.targets.at(slot)
	first := true
	var wanted time.Time // earliest beginning of all subscribers
	back := t.since.time()
	if !back.IsZero() {
		back = back.Add(-overlap)
	}
	skew := max(0, sh.skews[slot])
	sh.eachSub(slot, func(s subscriber) {
		since := sh.wants[s.want].since.Add(-skew)
		if first || since.Before(wanted) {
			wanted, first = since, false
		}
		if s.fresh && !t.is(cold) && since.Before(back) {
			back = since
		}
	})
	if back.Before(wanted) {
		return wanted
	}
	return back
}

func (sh *shard) username(slot int32) string { return sh.names.at(sh.targets.at(slot).name) }

// userID is the account's id on its platform, "" while it is not known. One
// that is a number is kept as such, others among the names.
func (sh *shard) userID(slot int32) string {
	t := sh.targets.at(slot)
	switch {
	case t.is(textID):
		return sh.names.at(t.idLo)
	case t.idHigh|t.idLo != 0:
		return strconv.FormatUint(uint64(t.idHigh)<<32|uint64(t.idLo), 10)
	}
	return ""
}

func (sh *shard) setUserID(slot int32, id string) {
	t := sh.targets.at(slot)
	if sh.userID(slot) == id {
		return
	}
	if t.is(textID) {
		sh.names.drop(t.idLo)
	}
	t.set(textID, false)
	t.idHigh, t.idLo = 0, 0
	if id == "" {
		return
	}
	if n, err := strconv.ParseUint(id, 10, 64); err == nil && n != 0 && strconv.FormatUint(n, 10) == id {
		t.idHigh, t.idLo = uint32(n>>32), uint32(n)
		return
	}
	t.set(textID, true)
	t.idLo = sh.names.add(id)
}

// before reports whether a post is from before since. Stamps are cut to the
// millisecond, some to the second, and may stand for any moment of it.
func before(published, since time.Time) bool {
	unit := time.Millisecond
	if published.Nanosecond() == 0 {
		unit = time.Second
	}
	return published.Before(since.Truncate(unit))
}
