package poll

import (
	"time"

	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/internal/seen"
)

// Poll is one reading of a target, from its start until its commit is settled. While its pages are
// read, it belongs to the goroutine that reads them. Before and after that it belongs to the shard.
type Poll struct {
	Machine *Machine
	Slot    int32
	Name    string    // the account's name, or the query's text
	Hash    uint64    // hash of the target's key
	DueAt   int64     // on the detector's clock
	At      time.Time // DueAt as wall time
	Plan    Plan
	Out     Outcome

	// The results of the poll, kept until the commit is settled.
	News       []string // ids of posts to remember
	Cursor     *Cursor  // to store; nil when that can wait
	Opened     *Gap     // the gap that this poll leaves
	Closing    *Gap     // the gap that this poll read part of, as it is now
	Healed     []Gap    // other gaps that this poll has read
	New        int      // number of posts that were not known
	Found      []time.Time
	Posted     time.Time // publication time of the newest valid post
	Sound      bool      // no post of the poll was dropped
	Committing bool
	Stream     Streamed

	flight
}

// Streamed links a poll to its target's stream.
type Streamed struct {
	Missing []*fetcher.Tweet // new posts published since Plan.Covered, which the stream should have sent
	Numbers []uint64         // numbers of the streamed posts: see Push
}

// flight is the state that a Machine and its Workers keep for a poll.
type flight struct {
	index   int // index in Machine.polls
	call    *sharedCall
	own     sharedCall // used as call if the poll shares its call with no other
	waiters []func()   // functions to call when the poll has ended
}

// sharedCall counts the polls that one upstream call serves.
type sharedCall struct{ open int }

// Plan says what a poll reads.
type Plan struct {
	// The request: Timeline or Search, depending on the Machine's kind.
	Timeline fetcher.TimelineQuery
	Search   fetcher.SearchQuery
	Limit    int // number of posts to read; 0 means no limit

	Cutoff time.Time // how far to read back
	Since  time.Time // start of the last complete poll
	Newest time.Time // publication time of the newest post that was read; zero for none
	// Joins is set for a poll that cannot read back to Cutoff. Such a poll may stop at known posts
	// that were published before Joins, because earlier polls read the posts behind them for all
	// subscribers. Zero means that it may not.
	Joins     time.Time
	Expected  bool // the target is known to have posts
	Blank     bool // none of the target's posts is remembered
	Unordered bool // the target's answers are not newest first
	First     bool // the target's first poll in this process: the posts it reads are history
	Failed    bool // the previous poll or commit failed
	// Former is the account's id if no account was found by it any more, otherwise "". Timeline
	// then asks by the name alone.
	Former string

	Pushed  bool      // the posts come from a stream: nothing is read
	Covered time.Time // since when the stream sends the target's posts; zero means never

	Gap   *Gap   // the gap to read instead of the newest posts; nil for none
	Audit uint64 // version to audit the first page with, 0 for no audit: see Machine.AskKnown

	// The posts that the target showed in recent polls: either Window or Set.
	Window *seen.Poll
	Set    *seen.Set
	// Refresh makes News include known posts that were shown again.
	Refresh bool
}

// Outcome is the result of a poll's calls.
type Outcome struct {
	Begun     time.Time
	Pages     []Page
	UserID    string
	Version   uint64        // version of the first page
	Unchanged bool          // the first page has not changed
	Asked     bool          // the platform itself gave the first page, not the adapter's memory
	Posts     int           // number of posts on all pages, including skipped ones
	Reach     time.Time     // publication time that the pages reach back to
	Next      string        // cursor of the next page, which was not read
	Skew      time.Duration // how far our clock is ahead of the upstream's; 0 if they roughly agree
	Complete  bool          // no post newer than the cutoff was left out
	Shallow   bool          // complete, but without the whole overlap
	Capped    bool          // the page cap, or a cursor that loops, ended the poll early
	Unordered bool          // an answer was not newest first
	Together  bool          // a call shared with other accounts failed
	Err       error         // error of the last call; the pages before it are valid

	cursors  []string // cursors of the pages after the first
	called   int64    // when the last call was made, on the detector's clock
	excess   int      // posts cut from pages that were too long
	wasOld   bool     // the last page reached further back than the cutoff
	panicked bool
}

// Page holds the posts of one call, and when the call was made.
type Page struct {
	Asked, At time.Time
	Tweets    []fetcher.Tweet
}

// Kind returns the kind of the poll's target.
func (p *Poll) Kind() Kind { return p.Machine.traits.Kind }

// Key returns the target's name in the journal.
func (p *Poll) Key() string { return p.Machine.traits.Target(p.Name) }

// Whole reports whether a poll read everything that it should, or leaves a gap for the rest. A poll
// that reads a gap is never whole.
func (p *Poll) Whole() bool {
	return p.Plan.Gap == nil && p.Out.Err == nil && (p.Out.Complete || p.Opened != nil)
}

// begin resets the Outcome for the calls of a poll.
func (p *Poll) begin(now time.Time) {
	p.Out = Outcome{Begun: now, UserID: p.Plan.Timeline.UserID, Unordered: p.Plan.Unordered,
		Pages: p.Out.Pages[:0], cursors: p.Out.cursors[:0]}
	if c := p.Plan.Timeline.Cursor; c != "" {
		p.Out.cursors = append(p.Out.cursors, c)
	}
}

// askByName makes the next request for an account by its name alone. The account was not found by
// its id, so it may have been deleted and created again. It is unknown whether the stream covers
// the new account.
func (pl *Plan) askByName() {
	pl.Former, pl.Timeline.UserID, pl.Covered = pl.Timeline.UserID, "", time.Time{}
}

// Replaced reports whether the name belongs to another account than when it was last read.
func (p *Poll) Replaced() bool {
	return p.Plan.Former != "" && p.Out.UserID != "" && p.Out.UserID != p.Plan.Former
}

// Has reports whether the target showed a post in recent polls, and notes that the post was shown
// again.
func (pl *Plan) Has(id string) bool {
	if pl.Window != nil {
		return pl.Window.Has(id)
	}
	return pl.Set.Has(id)
}

// KnowsAll reports whether a page has posts and all of them are known. Posts that the Fetcher left
// out of the page count as known.
func (pl *Plan) KnowsAll(pg *fetcher.Page) bool {
	for i := range pg.Tweets {
		if !pl.Has(pg.Tweets[i].ID) {
			return false
		}
	}
	return len(pg.Tweets)+pg.Skipped+pg.Others > 0
}

// before reports whether a post was certainly published before since. Publication times are cut to
// the millisecond or the second, so the post may be that much later.
func before(published, since time.Time) bool {
	unit := time.Millisecond
	if published.Nanosecond() == 0 {
		unit = time.Second
	}
	return published.Before(since.Truncate(unit))
}

// reset clears a finished poll for reuse. It keeps the capacity of slices and drops their contents.
func (p *Poll) reset() {
	pages, cursors, found, missing, numbers := p.Out.Pages, p.Out.cursors, p.Found[:0], p.Stream.Missing, p.Stream.Numbers[:0]
	clear(pages)
	clear(cursors)
	clear(missing)
	*p = Poll{}
	p.Out.Pages, p.Out.cursors, p.Found, p.Stream = pages[:0], cursors[:0], found, Streamed{missing[:0], numbers}
}
