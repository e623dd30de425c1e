package detect

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/streamwatch/streamwatch/detect/internal/accounts"
	"github.com/streamwatch/streamwatch/detect/internal/shards"
)

// AccountStatus is the status of one account. It shows whether an account without new posts is
// polled, or cannot be reached any more.
type AccountStatus struct {
	Username string
	UserID   string // its id on the platform, "" while unknown
	Sources  int    // monitors that watch it, and rules that get posts from it

	LastPoll    time.Time // start of the last complete poll, to the second
	LastContact time.Time // when the upstream last returned a page of the account, to the second
	LastPost    time.Time // publication time of the newest post seen, to the second
	// NextPoll is when the next poll is due. It is zero while a poll is under way. It is always
	// zero if a budget sets the pace.
	NextPoll time.Time
	// Interval is the shortest interval of the sources; 0 if they have none.
	Interval time.Duration
	// Rate is the number of posts per second; 0 while unknown.
	Rate float64

	Failures int // consecutive polls and commits that failed
	// Err is the error of the last failure, and Error its text. The text of a call's error is
	// cut to 1 KiB.
	Err   error `json:"-"`
	Error string
	Gaps  []Gap // open ranges

	// Elsewhere is true if another node of a fleet polls the account. LastPoll, UserID and Gaps
	// then come from the journal, which may be minutes behind. All other results of polls are zero.
	Elsewhere bool
	// Node is the name of the node that polls the account, "" without a fleet. Engine.Account
	// sets it.
	Node string

	// Missing is the number of posts expected since LastPost, given Rate; 0 while either is
	// unknown. Delay is the mean time from publication to commit of the posts that Polls found; 0
	// if there are none.
	Missing float64
	Delay   time.Duration
	// Rank is the value by which Worst sorts accounts, highest first. It is a number of failures,
	// posts, gaps or seconds: see WorstQuery.By. Only Worst sets it.
	Rank float64
	// Polls are the last polls, newest first, at most 200. A shard remembers 1,024 polls that found
	// posts or failed, and 1,024 others, for all of its accounts together. Worst leaves out Polls
	// and Delay.
	Polls []PastPoll
}

// PastPoll is a finished poll of an account. Its times are to the millisecond.
type PastPoll struct {
	Begun, Due time.Time
	Read, Took time.Duration // from Begun until the last page arrived; until the poll was committed or failed
	Found      int           // new posts
	// Delay and LongestWait are the mean and the longest time from publication to commit of new
	// posts. They are 0 if there are none, and for a First poll or a Fill, which read old posts.
	Delay, LongestWait time.Duration
	First              bool // the first poll of the account in this process
	Gap, Fill          bool // it left a gap; it read part of a gap
	Pushed             bool // the posts came from a stream, and nothing was read
	Error              string
}

// Account returns the status of an account. ok is false if nobody watches it. Account waits until
// Run has begun.
func (d *Detector) Account(ctx context.Context, username string) (st AccountStatus, ok bool, err error) {
	return d.account(ctx, username, func(string) bool { return true })
}

// AccountOf is Account for one owner. ok is false if no source of the owner watches the account.
// Sources and Interval count only the owner's sources.
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
		return AccountStatus{}, false, fmt.Errorf("detect: cannot read cursors: %w", err)
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
	if !read.Cold { // otherwise another process made the poll
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

// WorstBy is the figure by which Worst sorts accounts.
type WorstBy uint8

const (
	WorstFailing WorstBy = iota // consecutive polls and commits that failed
	WorstSilent                 // AccountStatus.Missing, at least 3: by chance, that many are missing in one case of 20
	WorstGaps                   // open gaps
	WorstSlow                   // AccountStatus.Delay
)

// WorstQuery selects the accounts that Worst returns.
type WorstQuery struct {
	By    WorstBy
	Limit int // the highest number of accounts; an engine uses 50 for 0
	// Owner limits the result to accounts that a source of this owner watches, unless All is
	// set.
	Owner string
	All   bool
}

// Worst returns the worst of the accounts that this process polls, the worst first. It does
// not delay polls. It waits until Run has begun.
func (d *Detector) Worst(ctx context.Context, q WorstQuery) (worst []AccountStatus, err error) {
	sees := func(owner string) bool { return q.All || owner == q.Owner }
	return shards.Worst(ctx, d.shards, shards.Query{By: shards.Order(q.By), Limit: q.Limit, Sees: sees}, func(a *accounts.Targets, slot int32, rank float64) AccountStatus {
		st := d.accountStatus(a, slot, sees)
		st.Rank = rank
		return st
	})
}

// Phase returns the offset of an account's polls within its interval, from 0 to less than interval.
// interval must be above 0; it is the shortest of the account's subscriptions. Polls are due at
// phase + n × interval after the Unix epoch, for each whole n, and begin within a millisecond
// unless they are delayed. The phase depends only on the handle, ignoring case and a leading "@".
// So it is the same in every process and after every restart.
func Phase(username string, interval time.Duration) time.Duration {
	return time.Duration(accounts.Hash(accounts.Key(username)) % uint64(interval))
}
