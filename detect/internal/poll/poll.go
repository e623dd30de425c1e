package poll

import (
	"time"

	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/internal/seen"
)

// Poll is one reading of a target, from its start until its commit is settled.
// While pages are read it belongs to the goroutine that reads them; before and
// after, to the shard.
type Poll struct {
	Machine *Machine
	Slot    int32
	Name    string    // of the account, or the query's text
	Hash    uint64    // of the target
	DueAt   int64     // when the poll was due, on the detector's clock
	At      time.Time // the same on the wall
	Plan    Plan
	Out     Outcome

	// What came of it, until the commit is settled.
	News       []string // ids to remember
	Cursor     *Cursor  // to store, nil when that can wait
	Opened     *Gap     // a gap that this poll leaves
	Closing    *Gap     // a gap that this poll has read on from, as it is now
	Healed     []Gap    // gaps that this poll has read besides
	New        int      // posts that were not known
	Found      []time.Time
	Posted     time.Time // when the newest sound post was published
	Sound      bool      // no post was dropped
	Committing bool
	Stream     Streamed

	flight
}

// Streamed is what a poll has to do with a stream.
type Streamed struct {
	Missing []*fetcher.Tweet // new posts from after Plan.Covered, of a poll
	Numbers []uint64         // of the posts that the stream has brought: see Push
}

// flight is what a Machine and its Workers keep with a poll.
type flight struct {
	index   int // in Machine.polls
	call    *sharedCall
	own     sharedCall // call, when it is the poll's alone
	waiters []func()   // to call when it has ended
}

// sharedCall counts the polls that one upstream call serves.
type sharedCall struct{ open int }

// Plan is what a poll has to do.
type Plan struct {
	// One of them is asked, by what the Machine polls.
	Timeline fetcher.TimelineQuery
	Search   fetcher.SearchQuery
	Limit    int // posts to read, 0 for no limit

	Cutoff time.Time // read back to here
	Since  time.Time // when the last complete poll began
	// Joins is where a poll that cannot read back to Cutoff may stop at known
	// posts: what lies before was read then, for all subscribers. Zero is never.
	Joins     time.Time
	Expected  bool // the target had posts before
	Blank     bool // none of its posts is remembered
	Unordered bool // its answers are not newest first
	First     bool // the target's first poll in this process: its pages are history
	Failed    bool // it follows polls or commits that failed
	// Former is the account's id when it was not found by that any more: Timeline asks
	// by the name alone. "" otherwise.
	Former string

	Pushed  bool      // a stream has brought the posts: nothing is read
	Covered time.Time // since when a stream brings the target's posts; zero for never

	Gap   *Gap   // what to read, in place of the newest posts
	Audit uint64 // version by which the first page is audited, 0 for no audit: see Machine.AskKnown

	// What the target showed lately: one of them.
	Window *seen.Poll
	Set    *seen.Set
	// Refresh: News has the known posts that were shown again, too.
	Refresh bool
}

// Outcome is what a poll read.
type Outcome struct {
	Begun     time.Time
	Pages     []Page
	UserID    string
	Version   uint64        // of the first page
	Unchanged bool          // the first page is as it was
	Posts     int           // on all pages, skipped ones included
	Reach     time.Time     // publication time the pages reach back to
	Next      string        // of the page that was not read any more
	Skew      time.Duration // how far our clock is ahead of the upstream's, 0 when about right
	Complete  bool          // nothing newer than the cutoff was left out
	Shallow   bool          // and complete, but short of the whole overlap
	Capped    bool          // the page cap, or a cursor that loops, ended it early
	Unordered bool          // an answer was not newest first
	Together  bool          // a call that was shared with other accounts failed
	Err       error         // of the last call; the pages before it are good

	cursors  []string // of the pages after the first
	excess   int      // posts cut from too long pages
	wasOld   bool     // the last page reached further back than the cutoff
	panicked bool
}

// Page is what a call brought, and when it was made.
type Page struct {
	Asked, At time.Time
	Tweets    []fetcher.Tweet
}

// Kind is what is polled.
func (p *Poll) Kind() Kind { return p.Machine.traits.Kind }

// Key is the target's name in the journal.
func (p *Poll) Key() string { return p.Machine.traits.Target(p.Name) }

// Whole reports whether a poll read all that it should have read, or opens a gap
// for the rest. A poll that reads on in a gap is not whole.
func (p *Poll) Whole() bool {
	return p.Plan.Gap == nil && p.Out.Err == nil && (p.Out.Complete || p.Opened != nil)
}

// begin makes room for what the calls bring.
func (p *Poll) begin(now time.Time) {
	p.Out = Outcome{Begun: now, UserID: p.Plan.Timeline.UserID, Unordered: p.Plan.Unordered,
		Pages: p.Out.Pages[:0], cursors: p.Out.cursors[:0]}
	if c := p.Plan.Timeline.Cursor; c != "" {
		p.Out.cursors = append(p.Out.cursors, c)
	}
}

// askByName has an account asked for by its name alone that was not found by its id: it may
// have been deleted and made anew. Which posts the stream brings of it is not known then.
func (pl *Plan) askByName() {
	pl.Former, pl.Timeline.UserID, pl.Covered = pl.Timeline.UserID, "", time.Time{}
}

// Replaced reports whether another account has the name than when it was read before.
func (p *Poll) Replaced() bool {
	return p.Plan.Former != "" && p.Out.UserID != "" && p.Out.UserID != p.Plan.Former
}

// Has reports whether the target showed a post lately, and notes that it did
// again.
func (pl *Plan) Has(id string) bool {
	if pl.Window != nil {
		return pl.Window.Has(id)
	}
	return pl.Set.Has(id)
}

// KnowsAll reports whether a page has posts and all of them are known. Posts that
// the page leaves out count as known.
func (pl *Plan) KnowsAll(pg *fetcher.Page) bool {
	for i := range pg.Tweets {
		if !pl.Has(pg.Tweets[i].ID) {
			return false
		}
	}
	return len(pg.Tweets)+pg.Skipped+pg.Others > 0
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

// reset empties a poll that has ended for another one. It keeps the space of
// slices, and nothing that they held.
func (p *Poll) reset() {
	pages, cursors, found, missing, numbers := p.Out.Pages, p.Out.cursors, p.Found[:0], p.Stream.Missing, p.Stream.Numbers[:0]
	clear(pages)
	clear(cursors)
	clear(missing)
	*p = Poll{}
	p.Out.Pages, p.Out.cursors, p.Found, p.Stream = pages[:0], cursors[:0], found, Streamed{missing[:0], numbers}
}
