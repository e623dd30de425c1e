package enginetest

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/streamwatch/streamwatch/fetcher"
)

// A Recorder is a Fetcher that passes calls to another Fetcher and records the platform's answers for
// a Player. It is safe for concurrent use.
//
// A recording has a line of JSON for each call: the time of the answer, the account or query, and the
// page or the error. Names, texts and ids are replaced by a hash with a random key, which is not
// stored. Times are not changed. Only the id, author, time and references of a post, and only the
// kind of an error, are recorded.
type Recorder struct {
	from fetcher.Fetcher
	key  [sha256.Size]byte

	mu  sync.Mutex
	out *json.Encoder
	err error
}

var _ fetcher.Fetcher = (*Recorder)(nil)

// NewRecorder returns a Recorder of the Fetcher from. It writes one line to w for each call.
func NewRecorder(from fetcher.Fetcher, w io.Writer) *Recorder {
	r := &Recorder{from: from, out: json.NewEncoder(w)}
	rand.Read(r.key[:])
	return r
}

// Timeline passes the call to the Fetcher and returns its answer, even if the recording cannot be
// written: see Err.
func (r *Recorder) Timeline(ctx context.Context, q fetcher.TimelineQuery) (fetcher.Page, error) {
	page, err := r.from.Timeline(ctx, q)
	r.note(ctx, recordedCall{Account: r.hidden(strings.ToLower(q.Username)), Older: q.Cursor != ""}, page, err)
	return page, err
}

// Searcher returns a Searcher for streamwatch.Config.Roles. It passes calls to s and records them.
func (r *Recorder) Searcher(s fetcher.Searcher) fetcher.Searcher { return recordedSearches{r, s} }

type recordedSearches struct {
	recorder *Recorder
	from     fetcher.Searcher
}

func (s recordedSearches) Search(ctx context.Context, q fetcher.SearchQuery) (fetcher.Page, error) {
	page, err := s.from.Search(ctx, q)
	s.recorder.note(ctx, recordedCall{Query: s.recorder.hidden(q.Query), Older: q.Cursor != ""}, page, err)
	return page, err
}

// Err returns the first error of writing the recording. Nothing is recorded after it.
func (r *Recorder) Err() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.err
}

// recordedCall is a line of a recording.
type recordedCall struct {
	At      time.Time        `json:"at"` // when it was answered
	Account string           `json:"account,omitempty"`
	Query   string           `json:"query,omitempty"`
	Older   bool             `json:"older,omitempty"` // not the newest page
	UserID  string           `json:"user_id,omitempty"`
	Posts   []recordedPost   `json:"posts,omitempty"`   // those that were not seen before
	Skipped int              `json:"skipped,omitempty"` // posts that were
	Error   *recordedFailure `json:"error,omitempty"`
}

type recordedPost struct {
	ID        string    `json:"id"`
	UserID    string    `json:"user_id,omitempty"`
	Username  string    `json:"username,omitempty"`
	Published time.Time `json:"published,omitzero"`
	ReplyTo   string    `json:"reply_to,omitempty"`
	RepostOf  string    `json:"repost_of,omitempty"`
	Quotes    string    `json:"quotes,omitempty"`
}

// note writes a line. It leaves out a call that the caller has canceled.
func (r *Recorder) note(ctx context.Context, c recordedCall, page fetcher.Page, err error) {
	if err != nil && ctx.Err() != nil && errors.Is(err, context.Canceled) {
		return
	}
	c.At = time.Now()
	if err != nil {
		c.Error = newRecordedFailure(err)
	} else {
		c.UserID, c.Skipped = r.hidden(page.UserID), page.Skipped
		for i := range page.Tweets {
			t := &page.Tweets[i]
			c.Posts = append(c.Posts, recordedPost{
				ID: r.hidden(t.ID), UserID: r.hidden(t.UserID), Username: r.hidden(strings.ToLower(t.Username)), Published: t.PublishedAt,
				ReplyTo: r.hidden(t.InReplyToStatusID), RepostOf: r.hidden(t.RetweetedStatusID), Quotes: r.hidden(t.QuotedStatusID),
			})
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.err == nil {
		if r.err = r.out.Encode(c); r.err != nil {
			r.err = fmt.Errorf("enginetest: cannot write the recording: %w", r.err)
		}
	}
}

// hidden returns the pseudonym of a text, "" of "".
func (r *Recorder) hidden(text string) string {
	if text == "" {
		return ""
	}
	mac := hmac.New(sha256.New, r.key[:])
	io.WriteString(mac, text)
	return "x" + strings.ToLower(base32.StdEncoding.EncodeToString(mac.Sum(nil)[:10]))
}

// recordedFailure is an error of package fetcher.
type recordedFailure struct {
	Kind       string        `json:"kind"`
	Code       int           `json:"code,omitempty"` // of a status
	RetryAfter time.Duration `json:"retry_after_ns,omitempty"`
	Target     bool          `json:"target,omitempty"` // of a rate limit
	All        bool          `json:"all,omitempty"`
}

const (
	failureStatus    = "status"
	failureRateLimit = "rate limit"
	failureOther     = "other"
)

// failureKinds are the errors without further fields.
var failureKinds = map[string]error{
	"not found": fetcher.ErrNotFound, "unauthorized": fetcher.ErrUnauthorized, "protected": fetcher.ErrProtected,
	"malformed": fetcher.ErrMalformed, "unsupported": fetcher.ErrUnsupported, "timeout": context.DeadlineExceeded,
	failureOther: errors.New("the call failed"),
}

func newRecordedFailure(err error) *recordedFailure {
	var limit *fetcher.RateLimitError
	var status *fetcher.StatusError
	switch {
	case errors.As(err, &limit):
		return &recordedFailure{Kind: failureRateLimit, RetryAfter: limit.RetryAfter, Target: limit.Target, All: limit.All}
	case errors.As(err, &status):
		return &recordedFailure{Kind: failureStatus, Code: status.Code, RetryAfter: status.RetryAfter}
	}
	for kind, target := range failureKinds {
		if errors.Is(err, target) {
			return &recordedFailure{Kind: kind}
		}
	}
	return &recordedFailure{Kind: failureOther}
}

// unknown reports whether no Recorder writes such an error.
func (f *recordedFailure) unknown() bool {
	return f.Kind != failureStatus && f.Kind != failureRateLimit && failureKinds[f.Kind] == nil
}

// err returns the error for a call that is made later than the recorded call, by the duration after.
// Its RetryAfter is shorter by after.
func (f *recordedFailure) err(after time.Duration) error {
	left := max(0, f.RetryAfter-after)
	switch f.Kind {
	case failureRateLimit:
		return &fetcher.RateLimitError{RetryAfter: left, Target: f.Target, All: f.All}
	case failureStatus:
		return &fetcher.StatusError{Code: f.Code, RetryAfter: left}
	}
	return failureKinds[f.Kind]
}
