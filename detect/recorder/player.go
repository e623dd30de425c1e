package recorder

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/detect/internal/budget"
	"github.com/streamwatch/streamwatch/detect/internal/poll"
	"github.com/streamwatch/streamwatch/detect/internal/spend"
	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/internal/lateness"
)

// player plays the polls of one target. Its clocks stand where the recording says.
type player struct {
	env    *poll.Env
	times  poll.Times
	target target
	polls  *poll.Machine
	slot   int32
	hash   uint64

	scheduled bool // its own polls alone decide when it is due
	differs   bool
	played    int // polls

	now   time.Time
	clock int64
	line  *pollLine // being played
	read  int       // answers given
	got   *poll.Record
	fault string // what the code asked for that was not recorded
}

// target is the account or query that a player plays.
type target interface {
	poll.Targets
	// follow sets the subscribers to readers from a State.
	follow(readers []poll.ReaderState)
	// hurry sets whether the target is polled again at once after the poll under way.
	hurry(hurried bool)
	// recall has the target remember what it did when the recording began, as far as the
	// poll that is to be played tells.
	recall(l *pollLine)
}

// newPlayer returns a player of a target in the state before its first poll of the
// recording.
func newPlayer(r *run, l *pollLine) (*player, error) {
	a := &player{hash: l.Hash}
	clock := func() int64 { return a.clock }
	now := func() time.Time { return a.now }
	logger := slog.New(slog.DiscardHandler)
	a.env = &poll.Env{Fetcher: answers{a}, Roles: fetcher.Roles{Search: answers{a}, Buckets: answers{a}},
		Budget: budget.New(budget.Config{Epoch: r.Epoch, Clock: clock, Now: now, Stop: make(chan struct{}), Stopped: errors.New("recorder: stopped"), Ring: func() {},
			Spend: spend.Config{Load: func(context.Context, string) (string, error) { return "", nil }, Store: func() {}}, Logger: logger}),
		FetchTimeout: 100 * 365 * 24 * time.Hour, // deadlines follow the real clock
		MaxPages:     r.MaxPages, PageSize: r.PageSize, Horizon: r.Horizon, MaxOverlap: r.MaxOverlap, Rest: poll.Rest{MinBackoff: r.MinBackoff, MaxBackoff: r.MaxBackoff, Seed: r.Seed},
		Handlers: r.Handlers, Platform: r.Platform, Logger: logger, Now: now, Clock: clock, Epoch: r.Epoch,
		On:       poll.Callbacks{Tape: a, Gap: func(poll.Gap) {}, Trouble: func(poll.Trouble) {}, Account: func() {}, Pushed: func(poll.Kind, []uint64) {}},
		WaitPage: func(context.Context) error { a.turnPage(); return nil },
	}
	a.line, a.clock, a.now = l, l.Given.Due, l.Given.At
	settled := func(p *poll.Poll, _ []deliver.Event) { p.Machine.Settled(p, errorOf(a.line.Given.Unstored)) }
	if l.Query {
		newQuery(a, settled)
	} else {
		newAccount(a, settled)
	}
	if key := a.target.Key(a.slot); key != l.Key {
		return nil, fmt.Errorf("recorder: target %q is not allowed: want %q, that of the name %q", l.Key, key, l.Name)
	}
	return a, nil
}

// play plays a poll, and returns the first difference, nil for none.
func (a *player) play(l *pollLine) *Difference {
	a.line, a.got, a.read, a.fault = l, nil, 0, ""
	a.played++
	g := &l.Given
	a.clock, a.now = g.Due, g.At
	a.times = poll.Times{Now: g.Due, Wall: g.At}
	tracker, err := lateness.New(lateness.Config{Initial: g.Overlap, Min: g.Overlap, Max: max(g.Overlap, time.Nanosecond)})
	if err != nil {
		return a.difference("given.overlap_ns", g.Overlap.String(), err.Error())
	}
	a.env.Late = tracker
	a.env.Contract.SetLongest(g.Longest)
	if d := a.compareState(g); d != nil {
		return d
	}
	a.follow(g.Before.Readers)
	a.target.recall(l)
	switch {
	case g.Pushed:
		a.push()
	case !a.poll():
		return a.difference("decided.fills", encoded(l.Decided.Fills), "")
	}
	if a.fault != "" {
		return a.difference(a.fault, "", "asked for")
	}
	if a.got == nil {
		return a.difference("decided", "a poll that ended", "")
	}
	return a.compare()
}

// poll makes the poll, and reports whether there was one to make.
func (a *player) poll() bool {
	g, polls := &a.line.Given, a.polls
	var p *poll.Poll
	if a.line.Decided.Fills != nil {
		if _, _, ok := polls.FillTurn(false, a.clock); !ok {
			return false
		}
		if p = polls.StartFill(func(int32) bool { return false }); p == nil {
			return false
		}
	} else {
		p = polls.Start(a.slot, g.Due, g.At)
	}
	p.DueAt, p.At, p.Hash = g.Due, g.At, a.hash
	p.Plan.Timeline.Known, p.Plan.Search.Known, p.Plan.Audit = g.Known, g.Known, g.Audit
	if len(g.Answers) > 0 {
		a.now = g.Answers[0].Asked
	} else if !g.Begun.IsZero() {
		a.now = g.Begun
	}
	a.env.Read(context.Background(), p, new(fetcher.Page))
	if g.Judging != nil {
		a.follow(g.Judging)
	}
	a.settle()
	polls.Landed(p)
	return true
}

// push plays posts that a stream brought.
func (a *player) push() {
	var posts []poll.Push
	for _, ans := range a.line.Given.Answers {
		for i := range ans.Posts {
			posts = append(posts, poll.Push{Post: ans.Posts[i].tweet(), At: ans.At})
		}
	}
	slices.Reverse(posts) // pages are kept from the last to the first
	a.read = len(a.line.Given.Answers)
	a.settle()
	a.polls.Pushes.Add(a.slot, false, posts...)
}

// settle sets the clocks to when the poll was judged and settled.
func (a *player) settle() {
	g := &a.line.Given
	if !g.Judged.IsZero() {
		a.now = g.Judged
	}
	a.target.hurry(g.Hurried)
	a.clock = g.Settled
	a.times = poll.Times{Now: g.Settled, Wall: g.SettledAt}
}

// turnPage sets the clock to when the next page was asked for.
func (a *player) turnPage() {
	if all := a.line.Given.Answers; a.read < len(all) {
		a.now = all[a.read].Asked
	}
}

// follow sets the target's subscribers to readers, if they are others.
func (a *player) follow(readers []poll.ReaderState) {
	var s poll.State
	a.target.Note(a.slot, &s)
	if !slices.EqualFunc(s.Readers, readers, sameReader) {
		a.target.follow(readers)
	}
}

func sameReader(a, b poll.ReaderState) bool {
	same := a.Since.Equal(b.Since) && a.From.Equal(b.From) && a.Read.Equal(b.Read)
	a.Since, a.From, a.Read = b.Since, b.From, b.Read
	return same && a == b
}

// match returns a function that takes the place of a monitor's filter or a rule's query, and
// says of a post what the recording says. A post that the recording does not mention matches,
// so that its event shows as a difference.
func (a *player) match(source string) func(*fetcher.Tweet) bool {
	return func(tw *fetcher.Tweet) bool {
		return !slices.Contains(a.line.Given.Refused, poll.Refusal{Post: tw.ID, Source: source})
	}
}

// Ended implements poll.Tape.
func (a *player) Ended(r *poll.Record) { a.got = r }

// Released implements poll.Tape.
func (a *player) Released(*poll.Env, string) {}

// answers gives the recorded answers, in order.
type answers struct{ *player }

// Timeline implements fetcher.Fetcher.
func (s answers) Timeline(_ context.Context, q fetcher.TimelineQuery) (fetcher.Page, error) {
	first := s.read == 0
	pg, err := s.next()
	if err == nil && first && q.Seen != nil {
		for _, id := range s.line.Given.Window.Shown {
			q.Seen(id)
		}
	}
	return pg, err
}

// Search implements fetcher.Searcher.
func (s answers) Search(context.Context, fetcher.SearchQuery) (fetcher.Page, error) { return s.next() }

// next gives the next answer, at the time at which it came.
func (a *player) next() (fetcher.Page, error) {
	g := &a.line.Given
	if a.read == len(g.Answers) {
		if g.Errors == nil {
			a.fault = "given.answers[" + fmt.Sprint(a.read) + "]"
			return fetcher.Page{}, errors.New("recorder: no such answer was recorded")
		}
		return fetcher.Page{}, errorOf(g.Errors)
	}
	ans := &g.Answers[a.read]
	a.read++
	a.now = ans.At
	pg := fetcher.Page{Skipped: ans.Skipped, Others: ans.Others, OldestAt: ans.OldestAt, Next: ans.Next, UserID: ans.UserID,
		RateLimit: ans.RateLimit, ServerTime: ans.ServerTime, AsOf: ans.AsOf, Version: ans.Version, Unchanged: ans.Unchanged}
	for i := range ans.Posts {
		pg.Tweets = append(pg.Tweets, ans.Posts[i].tweet())
	}
	return pg, nil
}

// Bucket implements fetcher.Bucketer. It returns the bucket that the recorded poll closed: the
// polls that are played ask for no other.
func (s answers) Bucket(fetcher.Call) string {
	if shut := s.line.Decided.Shut; shut != nil {
		return shut.Bucket
	}
	return ""
}
