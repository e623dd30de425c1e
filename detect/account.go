package detect

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/streamwatch/streamwatch/detect/internal/accounts"
	"github.com/streamwatch/streamwatch/detect/internal/shards"
)

// AccountStatus tells how one account is doing: a silent one is polled and
// posts nothing, a dead one is not reached any more.
type AccountStatus struct {
	Username string
	UserID   string // on its platform, "" while unknown
	Sources  int    // monitors that watch it, and rules whose posts come from it

	LastPoll    time.Time // beginning of the last complete poll, to the second
	LastContact time.Time // when the upstream last returned a page of it, to the second
	LastPost    time.Time // publication of the newest post seen, to the second
	// NextPoll is when the next poll is due; zero while one is under way, or when a
	// budget decides.
	NextPoll time.Time
	// Interval is the shortest that one of Sources asks for; 0 for none.
	Interval time.Duration
	// Rate is the number of posts a second; 0 while unknown.
	Rate float64

	Failures int // polls and commits that failed in a row
	// Err is the error of the last of these, and Error its text. The text of a call's error
	// is cut to 1 KiB.
	Err   error `json:"-"`
	Error string
	Gaps  []Gap // open ranges

	// Elsewhere: another node of a fleet polls the account. Then LastPoll, UserID and Gaps
	// come from the journal, which may be minutes behind, and all else that follows from
	// polls is zero.
	Elsewhere bool
	// Node is the name of the node that polls the account, "" without a fleet. Engine.Account
	// sets it.
	Node string

	// Missing is how many posts are expected since LastPost by Rate; 0 while either is
	// unknown. Delay is the mean time from publication to commit of the posts found by the
	// polls that are remembered; 0 for none.
	Missing float64
	Delay   time.Duration
	// Rank is the figure by which WorstQuery.By orders accounts, the highest being the
	// worst: a number of failures, posts or gaps, or seconds. Only Worst sets it.
	Rank float64
	// Polls are the last polls, the newest first, at most 200. For all accounts of a shard
	// together, 1,024 polls that found posts or failed are remembered, and as many others.
	// Worst leaves out Polls and Delay.
	Polls []PastPoll
}

// PastPoll is a poll of an account that has ended. Its times are to the millisecond.
type PastPoll struct {
	Begun, Due time.Time
	Read, Took time.Duration // from Begun until the last page had come; until the poll was committed or had failed
	Found      int           // new posts
	// Delay and LongestWait are the mean and the longest time from publication to commit;
	// 0 without new posts, and for posts of a First poll or a Fill, which are history.
	Delay, LongestWait time.Duration
	First              bool // of the account in this process
	Gap, Fill          bool // it left a gap; it read on in a gap
	Pushed             bool // a stream brought the posts, and nothing was read
	Error              string
}

// Account returns the status of an account; ok is false when nobody watches it. It waits
// for Run to begin.
func (d *Detector) Account(ctx context.Context, username string) (st AccountStatus, ok bool, err error) {
	return d.account(ctx, username, func(string) bool { return true })
}

// AccountOf is Account for an owner: ok is false when no source of the owner's watches the
// account, and Sources and Interval are of the owner's sources alone.
func (d *Detector) AccountOf(ctx context.Context, owner, username string) (st AccountStatus, ok bool, err error) {
	return d.account(ctx, username, func(o string) bool { return o == owner })
}

func (d *Detector) account(ctx context.Context, username string, sees func(owner string) bool) (st AccountStatus, ok bool, err error) {
	var found *AccountStatus
	err = d.shardOf(username).Ask(ctx, func(sh *shards.Shard) {
		a, hash := sh.Accounts, accounts.HashName(username)
		if slot, ok := a.Find(hash, username); ok && a.At(slot).Watched {
			st := d.accountStatus(a, slot, sees)
			st.Delay = shards.Delays(a)[slot]
			for _, p := range a.Polls.Memory.Past(hash) {
				st.Polls = append(st.Polls, PastPoll(p))
			}
			found = &st
		}
	})
	switch {
	case err != nil:
		return AccountStatus{}, false, err
	case found == nil:
		return d.sharing.account(ctx, username, sees)
	case found.Sources == 0:
		return AccountStatus{}, false, nil
	}
	return *found, true, nil
}

// account is Detector.Account for an account that another node polls.
func (s *sharing) account(ctx context.Context, username string, sees func(owner string) bool) (st AccountStatus, ok bool, err error) {
	wants := s.elsewhere.Wants(accounts.HashName(username), sees)
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

func (d *Detector) accountStatus(a *accounts.Targets, slot int32, sees func(owner string) bool) AccountStatus {
	t, read := a.At(slot), a.Status(slot)
	st := AccountStatus{Username: a.Username(slot), UserID: a.UserID(slot), LastPoll: read.Since, LastPost: read.Post,
		Rate: a.PostRate(slot), Gaps: gapsAs[Gap](t.Gaps()), Failures: t.Failures()}
	if !read.Cold { // else the poll was another process's
		st.LastContact = st.LastPoll
	}
	if at, ok := t.Contact(); ok {
		st.LastContact = at
	}
	st.Missing = shards.Missing(a, slot, d.deps.Now())
	st.Sources, st.Interval = a.WantedBy(slot, sees)
	if st.Err, _ = t.Trouble(); st.Err != nil {
		st.Error = st.Err.Error()
	}
	if at, ok := a.Sched.At(slot); ok {
		st.NextPoll = d.wall(at)
	}
	return st
}

// WorstBy is the figure by which Worst compares accounts.
type WorstBy uint8

const (
	WorstFailing WorstBy = iota // polls and commits that failed in a row
	WorstSilent                 // AccountStatus.Missing, from 3 on: so many are missing by chance in one case of 20
	WorstGaps                   // open gaps
	WorstSlow                   // AccountStatus.Delay
)

// WorstQuery says which accounts Worst returns.
type WorstQuery struct {
	By    WorstBy
	Limit int // the highest number of accounts; an engine takes 0 for 50
	// Only accounts are returned that a source of Owner's watches, unless All is set.
	Owner string
	All   bool
}

// Worst returns the worst of the accounts that this process polls, the worst first. It
// does not hold up polls. It waits for Run to begin.
func (d *Detector) Worst(ctx context.Context, q WorstQuery) (worst []AccountStatus, err error) {
	sees := func(owner string) bool { return q.All || owner == q.Owner }
	return shards.Worst(ctx, d.shards, shards.Query{By: shards.Order(q.By), Limit: q.Limit, Sees: sees}, func(a *accounts.Targets, slot int32, rank float64) AccountStatus {
		st := d.accountStatus(a, slot, sees)
		st.Rank = rank
		return st
	})
}

// Phase returns an account's place in its interval, from 0 to less than interval, which
// must be above 0. If nothing delays it, a poll begins within a millisecond after each
// moment that is a number of whole intervals plus the phase after the Unix epoch. The
// interval is the shortest of the account's subscriptions. The phase follows from the
// handle alone, whatever its case and with or without "@": it is the same in every process
// and after every restart.
func Phase(username string, interval time.Duration) time.Duration {
	return time.Duration(accounts.Hash(accounts.Key(username)) % uint64(interval))
}
