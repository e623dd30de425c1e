package detect

import (
	"context"
	"fmt"
	"github.com/streamwatch/streamwatch/detect/internal/shards"
	"strings"
	"time"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/detect/internal/accounts"
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

	// Elsewhere: another node of a fleet polls it. LastPoll, UserID and Gaps are as the
	// journal has them then, which may be minutes behind; what follows from polls is zero.
	Elsewhere bool
	// Node is the name of the node that polls it; an engine sets it, "" without a fleet.
	Node string
}

// Account tells how an account is doing; ok is false when nobody watches it.
// It waits for Run to begin.
func (d *Detector) Account(ctx context.Context, username string) (st AccountStatus, ok bool, err error) {
	var found *AccountStatus
	err = shardOf(d, username).Ask(ctx, func(sh *shards.Shard) {
		a := sh.Accounts
		if slot, ok := a.Find(accounts.HashName(username), username); ok && a.Watched(slot) {
			st := newAccountStatus(d, a, slot)
			found = &st
		}
	})
	switch {
	case err != nil:
		return AccountStatus{}, false, err
	case found == nil:
		return d.sharing.account(ctx, username)
	}
	return *found, true, nil
}

// account is Account of one that another node polls.
func (s *sharing) account(ctx context.Context, username string) (st AccountStatus, ok bool, err error) {
	wants := s.elsewhere.Wants(accounts.HashName(username))
	if wants.Sources == 0 {
		return AccountStatus{}, false, nil
	}
	found, err := s.d.deps.Journal.Cursors(ctx, accounts.Key(username))
	if err != nil {
		return AccountStatus{}, false, fmt.Errorf("detect: read cursors: %w", err)
	}
	st = AccountStatus{Username: strings.TrimPrefix(username, "@"), Sources: wants.Sources, Interval: wants.Shortest, Elsewhere: true}
	for _, c := range found {
		st.UserID, st.LastPoll, st.Gaps = c.UserID, c.Since, c.Gaps
	}
	return st, true, nil
}

func newAccountStatus(d *Detector, a *accounts.Targets, slot int32) AccountStatus {
	t := a.At(slot)
	st := AccountStatus{Username: a.Username(slot), UserID: a.UserID(slot), LastPoll: t.Since.Time(), LastPost: t.Post.Time(),
		Interval: a.Interval(slot), Rate: a.PostRate(slot), Gaps: gapsOf(a.Polls.Gaps(slot)), Failures: a.Polls.Failures(slot)}
	if !t.Is(accounts.Cold) { // what another process did is no contact of ours
		st.LastContact = st.LastPoll
	}
	if at, ok := a.Polls.Contact(slot); ok {
		st.LastContact = at
	}
	a.Subscribers(slot, func(deliver.Source) { st.Sources++ })
	if st.Err, _ = a.Polls.Trouble(slot); st.Err != nil {
		st.Error = st.Err.Error()
	}
	if at, ok := a.Sched.At(slot); ok {
		st.NextPoll = d.wall(at)
	}
	return st
}
