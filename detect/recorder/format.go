package recorder

import (
	"encoding/json"
	"time"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/detect/internal/poll"
	"github.com/streamwatch/streamwatch/fetcher"
)

// A recording is gzip over lines of JSON. The first has a header, the last an end, with
// the number of polls between. Times are RFC 3339, durations and versions numbers.
// A run is a detector: one source from one start to the next.
const (
	formatName    = "streamwatch recording"
	formatVersion = 1
)

// line is one line: one of its fields.
type line struct {
	Header   *header       `json:"recording,omitempty"`
	Run      *run          `json:"run,omitempty"`
	Poll     *pollLine     `json:"poll,omitempty"`
	Released *releasedLine `json:"released,omitempty"`
	End      *endLine      `json:"end,omitempty"`
}

type header struct {
	Format  string    `json:"format"`
	Version int       `json:"version"`
	Made    time.Time `json:"made"`
	Why     string    `json:"why"`
	Plain   bool      `json:"plain"`
	Lost    int       `json:"lost"` // older polls, which gave way
}

// run is what all polls of a detector share.
type run struct {
	Run        int           `json:"run"` // from 1
	Platform   string        `json:"platform"`
	Epoch      time.Time     `json:"epoch"` // zero of the detector's clock
	Seed       uint64        `json:"seed"`  // of jitter
	MaxPages   int           `json:"max_pages"`
	PageSize   int           `json:"page_size"`
	Horizon    time.Duration `json:"horizon_ns"`
	MaxOverlap time.Duration `json:"max_overlap_ns"`
	MinBackoff time.Duration `json:"min_backoff_ns"`
	MaxBackoff time.Duration `json:"max_backoff_ns"`
	Handlers   []string      `json:"handlers,omitempty"`
}

type releasedLine struct {
	Run int    `json:"run"`
	Key string `json:"target"`
}

type endLine struct {
	Polls int       `json:"polls"`
	Made  time.Time `json:"made,omitzero"`
}

// pollLine is a poll.Record.
type pollLine struct {
	Run     int     `json:"run"`
	Key     string  `json:"target"`
	Name    string  `json:"name"`
	Query   bool    `json:"query,omitempty"` // the target is a query
	Hash    uint64  `json:"hash"`            // of the real name or text, not of the pseudonym, for phase and jitter
	Given   given   `json:"given"`
	Decided decided `json:"decided"`
}

func (l *pollLine) kind() poll.Kind {
	if l.Query {
		return poll.Queries
	}
	return poll.Accounts
}

// given is what a poll was decided by.
type given struct {
	Due      int64              `json:"due"` // nanoseconds of the detector's clock
	At       time.Time          `json:"at"`
	Overlap  time.Duration      `json:"overlap_ns"`
	Longest  int64              `json:"longest_page"`
	Known    uint64             `json:"known,omitempty"`
	Audit    uint64             `json:"audit,omitempty"`
	Covered  bool               `json:"covered,omitempty"`
	Pushed   bool               `json:"pushed,omitempty"`
	Before   poll.State         `json:"before"`
	Judging  []poll.ReaderState `json:"readers_when_judged,omitempty"`
	Window   window             `json:"remembered,omitzero"`
	Recalled *poll.Recalled     `json:"recalled,omitempty"` // of a query
	Answers  []answer           `json:"answers,omitempty"`
	Errors   []failure          `json:"error,omitempty"`
	reading
	Refused []poll.Refusal `json:"refused,omitempty"`
	hurry
	Settled   int64     `json:"settled"` // nanoseconds of the detector's clock
	SettledAt time.Time `json:"settled_at"`
	Unstored  []failure `json:"commit_error,omitempty"`
}

// reading is when a poll read.
type reading struct {
	Begun  time.Time `json:"begun,omitzero"`  // set if no answer came
	Judged time.Time `json:"judged,omitzero"` // set if posts came
}

// hurry is what had the target polled sooner than its own polls say.
type hurry struct {
	Hurried bool  `json:"hurried,omitempty"` // at once
	Wished  int64 `json:"wished,omitempty"`  // by schedules of rules, nanoseconds of the detector's clock
}

// window is the posts that an account is remembered to have shown.
type window struct {
	Shown   []string `json:"shown,omitempty"`   // again, by the answers
	Last    []string `json:"last,omitempty"`    // by the last complete poll
	Earlier []string `json:"earlier,omitempty"` // by the one before, besides
}

// answer is a page.
type answer struct {
	Asked      time.Time         `json:"asked"`
	At         time.Time         `json:"at"`
	Posts      []post            `json:"posts,omitempty"`
	Skipped    int               `json:"skipped,omitempty"`
	Others     int               `json:"others,omitempty"`
	OldestAt   time.Time         `json:"oldest_at,omitzero"`
	Next       string            `json:"next,omitempty"`
	UserID     string            `json:"user_id,omitempty"`
	RateLimit  fetcher.RateLimit `json:"rate_limit,omitzero"`
	ServerTime time.Time         `json:"server_time,omitzero"`
	AsOf       time.Time         `json:"as_of,omitzero"`
	Version    uint64            `json:"version,omitempty"`
	Unchanged  bool              `json:"unchanged,omitempty"`
}

// post is what is kept of a post.
type post struct {
	ID        string         `json:"id"`
	Published time.Time      `json:"published,omitzero"`
	Text      string         `json:"text,omitempty"`
	FullText  string         `json:"full_text,omitempty"`
	Username  string         `json:"username,omitempty"`
	UserID    string         `json:"user_id,omitempty"`
	UserName  string         `json:"user_name,omitempty"`
	ReplyTo   string         `json:"reply_to,omitempty"`
	Quote     bool           `json:"quote,omitempty"`
	Retweet   bool           `json:"retweet,omitempty"`
	Permalink string         `json:"permalink,omitempty"`
	Pinned    bool           `json:"pinned,omitempty"`
	Whole     *fetcher.Tweet `json:"whole,omitempty"` // where nothing is hidden
}

// decided is what Play compares.
type decided struct {
	Asked  asked        `json:"asked"`
	Cutoff time.Time    `json:"cutoff,omitzero"`
	Calls  int          `json:"answers_read"`
	Fills  *poll.Gap    `json:"fills,omitempty"`
	Whole  bool         `json:"whole"`
	Events []event      `json:"events,omitempty"`
	Cursor *poll.Cursor `json:"cursor,omitempty"`
	Opened *poll.Gap    `json:"gap,omitempty"`
	Filled []poll.Gap   `json:"filled,omitempty"`
	Shut   *shut        `json:"closed,omitempty"`
	Failed int          `json:"failed"`
	Told   bool         `json:"told"`
	Next   time.Time    `json:"next,omitzero"`
}

// asked is what the first call of a poll asked for.
type asked struct {
	UserID string    `json:"user_id,omitempty"`
	Cursor string    `json:"cursor,omitempty"`
	Limit  int       `json:"limit,omitempty"`
	Since  time.Time `json:"since,omitzero"`
}

// shut is how long calls were to wait, before jitter.
type shut struct {
	Bucket string        `json:"bucket"`
	Wait   time.Duration `json:"wait_ns"`
}

// event is a deliver.Event as it was committed.
type event struct {
	ID        string          `json:"id"`
	Source    deliver.Source  `json:"source"`
	Post      string          `json:"post"`
	Author    string          `json:"author"`
	Preview   string          `json:"preview"`
	URL       string          `json:"url"`
	Platform  string          `json:"platform,omitempty"`
	Published time.Time       `json:"published"`
	Earliest  time.Time       `json:"earliest,omitzero"`
	Requested time.Time       `json:"requested"`
	Fetched   time.Time       `json:"fetched"`
	Detected  time.Time       `json:"detected"`
	Latency   time.Duration   `json:"latency_ns"`
	Handlers  []string        `json:"handlers,omitempty"`
	Body      json.RawMessage `json:"body"`
}
