package poll

import (
	"slices"
	"time"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/detect/internal/interest"
	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/internal/seen"
)

// Tape gets a record of every poll that has ended. Its methods are called on the shards'
// goroutines and must not block.
type Tape interface {
	// Ended gets a record that is the Tape's. What it points at is shared and must not
	// be changed.
	Ended(r *Record)
	// Released is told of a target that nobody watches any more.
	Released(e *Env, key string)
}

// TapeOf returns the Tape of a Fetcher that brings one, nil of others.
func TapeOf(f fetcher.Fetcher) Tape {
	if t, ok := f.(interface{ Tape() Tape }); ok {
		return t.Tape()
	}
	return nil
}

// Record is what is kept of a poll: what it was given, and what it decided by that alone.
type Record struct {
	Env  *Env
	Kind Kind
	Key  string // of the target
	Name string // as polls name it
	Hash uint64
	Given
	Decided
	one [1]Answer // of most polls
}

// Given is what a poll was decided by.
type Given struct {
	Due     int64 // on the detector's clock
	At      time.Time
	Overlap time.Duration // as it was learned
	Longest int64         // posts of the longest page so far

	Known, Audit    uint64 // versions of the first page: see Plan
	Covered, Pushed bool   // a stream brings the target's posts, these

	Before  State
	Judging []ReaderState // subscribers when the poll was judged, if others than Before has

	Answers []Answer
	Err     error // of the last call, or of waiting for it
	Reading
	Refused  []Refusal
	Window   seen.Poll // the posts that an account was remembered to have shown, and which of them it showed again
	Recalled *Recalled // of a query, in place of Window
	Settled  Times
	Hurried  bool  // a subscriber or a probe wants the target polled again at once
	Wished   int64 // when schedules of rules want it next: see Next
	Unstored error // why the commit failed
}

// Reading is when a poll read.
type Reading struct {
	Begun  time.Time // set if no answer came
	Judged time.Time // set if posts came
}

// Decided is what became of a poll.
type Decided struct {
	Asked  fetcher.TimelineQuery // without Seen and Known
	Cutoff time.Time
	Fills  *Gap // the gap that the poll reads on in, if any
	Whole  bool
	Events []deliver.Event
	Cursor *Cursor
	Opened *Gap
	Filled []Gap
	Shut   Shut
	Next   int64 // when the target is due again, on the detector's clock; 0 where that is not planned
	Failed int   // polls and commits in a row
	Told   bool  // its subscribers were told of that
}

// Answer is a page and when it was asked for and came.
type Answer struct {
	Asked, At time.Time
	Page      fetcher.Page
}

// Refusal is a post that was for a subscriber, whose filter or query refused it.
type Refusal struct{ Post, Source string }

// Shut says which bucket a rate limit closed, and for how long, before jitter.
type Shut struct {
	Bucket string
	Wait   time.Duration
}

// State is what a target has come to before a poll.
type State struct {
	Since   time.Time     `json:"since,omitzero"`
	Cold    bool          `json:"cold,omitzero"`
	UserID  string        `json:"user_id,omitzero"`
	Gaps    []Gap         `json:"gaps,omitzero"`
	Skew    time.Duration `json:"skew_ns,omitzero"`
	Trouble Failing       `json:"trouble,omitzero"`
	Readers []ReaderState `json:"readers,omitzero"`
	Search  *SearchState  `json:"search,omitzero"` // of a query
}

// SearchState is what a query has besides: see queries.Query. What it points at does not
// change.
type SearchState struct {
	Unordered bool          `json:"unordered,omitzero"`
	Version   uint64        `json:"version,omitzero"`
	Limit     int           `json:"limit,omitzero"`
	Shown     []string      `json:"shown,omitzero"`
	Rests     time.Duration `json:"rests_ns,omitzero"` // between two polls, while a stream brings its posts
}

// Recalled is what a query remembered of the posts that a poll has shown.
type Recalled struct {
	seen.SetState
	Known []Recall `json:"known,omitzero"`
}

// Recall is a post that was known: see seen.Set.Recall.
type Recall struct {
	ID  string `json:"id"`
	Old bool   `json:"old,omitzero"`
}

// Failing is how long polls have failed.
type Failing struct {
	Failures int       `json:"failures"`
	Count    int       `json:"polls"`
	Due      time.Time `json:"due,omitzero"`
	First    time.Time `json:"first,omitzero"`
	Reported bool      `json:"reported,omitzero"`
	ByName   bool      `json:"by_name,omitzero"` // the next poll asks by the name alone
}

// ReaderState is a subscriber: see accounts.Terms and Subscriber.
type ReaderState struct {
	Source   deliver.Source `json:"source"`
	Since    time.Time      `json:"since,omitzero"`
	From     time.Time      `json:"from,omitzero"`
	Read     time.Time      `json:"read,omitzero"`
	Resumes  bool           `json:"resumes,omitzero"`
	Fresh    bool           `json:"fresh,omitzero"`
	Interval time.Duration  `json:"interval_ns,omitzero"`

	// Of a rule that is searched for.
	Covered    bool `json:"covered,omitzero"`   // by the poll under way
	Scheduled  bool `json:"scheduled,omitzero"` // Interval is that of a schedule at its busiest
	MaxResults int  `json:"max_results,omitzero"`
}

// The functions below do nothing without Callbacks.Tape.

// tapeState returns the state of a target before Plan, which may change it.
func tapeState(m *Machine, slot int32) *State {
	if m.env.On.Tape == nil {
		return nil
	}
	s := new(State)
	StateOf(m, slot, s)
	return s
}

// tapeBegun begins the record of a poll that is planned.
func tapeBegun(m *Machine, p *Poll, before *State) {
	e := m.env
	if e.On.Tape == nil {
		return
	}
	q := p.Plan.Timeline
	q.Seen, q.Known = nil, 0
	if m.traits.Kind == Queries && !p.Plan.Pushed {
		s := p.NextSearch(e.PageSize)
		q.Limit, q.Since = s.Limit, s.Since
	}
	r := &Record{Env: e, Kind: m.traits.Kind, Key: p.Key(), Name: p.Name, Hash: p.Hash,
		Given: Given{Due: p.DueAt, At: p.At, Overlap: e.Late.Overlap(), Longest: e.Contract.longest.Load(),
			Known: p.Plan.known(), Audit: p.Plan.Audit, Covered: !p.Plan.Covered.IsZero(), Pushed: p.Plan.Pushed},
		Decided: Decided{Asked: q, Cutoff: p.Plan.Cutoff, Fills: p.Plan.Gap}}
	r.Before, r.Answers = *before, r.one[:0]
	if p.Plan.Pushed {
		for _, pg := range p.Out.Pages {
			r.Answers = append(r.Answers, Answer{Asked: pg.Asked, At: pg.At, Page: fetcher.Page{Tweets: pg.Tweets}})
		}
	}
	p.tape = r
}

// StateOf sets an empty State to that of a target.
func StateOf(m *Machine, slot int32, s *State) {
	s.Gaps, s.Skew = m.book.gaps[slot], m.skews[slot]
	m.targets.Note(slot, s)
	if tr := m.troubles[slot]; tr != nil {
		s.Trouble = Failing{tr.failures, tr.count, tr.due, tr.first, tr.reported, tr.byName}
	}
}

// Adopt gives a target the failures, gaps and difference of clocks of a State.
func Adopt(m *Machine, slot int32, s *State) {
	m.book.restore(slot, s.Gaps)
	if s.Skew != 0 {
		m.skews[slot] = s.Skew
	}
	if f := s.Trouble; f != (Failing{}) {
		m.troubles[slot] = &trouble{failures: f.Failures, count: f.Count, due: f.Due, first: f.First, reported: f.Reported, byName: f.ByName}
	}
}

// SetLongest sets how long pages are as far as is known: see Given.Longest.
func (c *Contract) SetLongest(posts int64) { c.longest.Store(posts) }

// answer keeps a page as it came.
func (r *Record) answer(pg *fetcher.Page, asked, at time.Time) {
	if r != nil {
		r.Answers = append(r.Answers, Answer{asked, at, *pg})
	}
}

func (r *Record) refused(tw *fetcher.Tweet, src *interest.Source) {
	if r != nil {
		r.Refused = append(r.Refused, Refusal{tw.ID, src.ID})
	}
}

func (r *Record) shut(bucket string, wait time.Duration) {
	if r != nil {
		r.Shut = Shut{bucket, wait}
	}
}

// tapeLanded keeps how reading ended, and who subscribes now.
func tapeLanded(m *Machine, p *Poll) {
	r := p.tape
	if r == nil {
		return
	}
	if r.Err = p.Out.Err; len(r.Answers) == 0 {
		r.Begun = p.Out.Begun
	}
	s := &m.noted
	s.Readers = s.Readers[:0]
	m.targets.Note(p.Slot, s)
	if !slices.Equal(s.Readers, r.Before.Readers) {
		r.Judging = slices.Clone(s.Readers)
	}
}

// tapeJudged keeps what was decided.
func tapeJudged(p *Poll, events []deliver.Event) {
	r := p.tape
	if r == nil {
		return
	}
	r.Judged, r.Events, r.Cursor, r.Opened = p.judged, events, p.Cursor, p.Opened
	r.Whole, r.Filled = p.Whole(), p.Healed
	if c := p.Closing; c != nil && !c.FilledAt.IsZero() {
		r.Filled = append(r.Filled, *c)
	}
	if p.Plan.Window != nil {
		r.Window = p.Plan.Window.Clone()
	}
	if set := p.Plan.Set; set != nil {
		r.Recalled = &Recalled{SetState: set.State()}
		for i := range r.Answers {
			r.Recalled.note(set, r.Answers[i].Page.Tweets)
		}
	}
}

func (r *Recalled) note(set *seen.Set, posts []fetcher.Tweet) {
	for i := range posts {
		if known, old := set.Recall(posts[i].ID); known {
			r.Known = append(r.Known, Recall{posts[i].ID, old})
		}
	}
}

// tapeSettling keeps what else decides about the next poll, before Done resets it.
func tapeSettling(m *Machine, p *Poll) {
	if p.tape != nil {
		p.tape.Hurried = m.targets.NextAt(p.Slot).Hurried
	}
}

// tapeSettled gives the record away.
func tapeSettled(m *Machine, p *Poll, err error) {
	r := p.tape
	if r == nil {
		return
	}
	r.Settled, r.Unstored = *m.times, err
	next := m.targets.NextAt(p.Slot)
	r.Next, r.Wished = next.At, next.Wished
	r.Failed = m.Failures(p.Slot)
	_, r.Told = m.Trouble(p.Slot)
	m.env.On.Tape.Ended(r)
}

// jitter returns 0 to less than n that follows from Env.Seed, the target, the poll and
// its salt: a poll that is played again gets the same.
func (e *Env) jitter(p *Poll, salt uint64, n time.Duration) time.Duration {
	if n <= 0 {
		return 0
	}
	x := e.Seed ^ p.Hash ^ uint64(p.DueAt)*0x9E3779B97F4A7C15 ^ salt<<56
	x = (x ^ x>>30) * 0xBF58476D1CE4E5B9 // the finalizer of SplitMix64
	x = (x ^ x>>27) * 0x94D049BB133111EB
	return time.Duration((x ^ x>>31) % uint64(n))
}
