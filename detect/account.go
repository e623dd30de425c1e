package detect

import (
	"context"
	"time"
)

// AccountStatus tells how one account is doing: a silent one is polled and
// posts nothing, a dead one is not reached any more.
type AccountStatus struct {
	Username string
	UserID   string // on its platform, "" while unknown
	Sources  int    // monitors that watch it, and rules whose posts come from it

	LastPoll    time.Time // begin of the last complete poll, to the second
	LastContact time.Time // when the upstream last gave a page of it, to the second
	LastPost    time.Time // publication of the newest post seen, to the second
	// NextPoll is when it is due; zero while it is being polled, or when a
	// budget decides.
	NextPoll time.Time
	// Interval is the shortest that one of them asks for; 0 for none.
	Interval time.Duration
	// Rate is how often it posts, a second, as far as that is known.
	Rate float64

	Failures int    // polls and commits that failed in a row
	Err      error  `json:"-"` // of the last of them
	Error    string // its text
	Gaps     []Gap  // open ranges
}

// Account tells how an account is doing; ok is false when nobody watches it.
// It waits for Run to begin.
func (d *Detector) Account(ctx context.Context, username string) (st AccountStatus, ok bool, err error) {
	hash := hashAccount(username)
	var found *AccountStatus
	err = d.ask(ctx, d.shards[hash%uint64(len(d.shards))], func(sh *shard) {
		if slot, ok := sh.find(hash, username); ok && sh.targets.at(slot).want >= 0 {
			st := sh.status(slot)
			found = &st
		}
	})
	if err != nil || found == nil {
		return AccountStatus{}, false, err
	}
	return *found, true, nil
}

func (sh *shard) status(slot int32) AccountStatus {
	t := sh.targets.at(slot)
	st := AccountStatus{Username: sh.username(slot), UserID: sh.userID(slot), LastPoll: t.since.time(), LastPost: t.post.time(),
		Interval: sh.interval(slot), Rate: sh.postRate(slot), Gaps: append([]Gap(nil), sh.gaps[slot]...)}
	if !t.is(cold) { // what another process did is no contact of ours
		st.LastContact = st.LastPoll
	}
	sh.eachSub(slot, func(subscriber) { st.Sources++ })
	if tr := sh.troubles[slot]; tr != nil {
		st.Failures, st.Err = tr.failures, tr.err
		if tr.err != nil {
			st.Error = tr.err.Error()
		}
	}
	if at, ok := sh.contacts[slot]; ok {
		st.LastContact = at.time()
	}
	if at, ok := sh.sched.At(slot); ok {
		st.NextPoll = sh.d.wall(at)
	}
	return st
}
