package enginetest

import (
	"bufio"
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/streamwatch/streamwatch/enginetest/arrivals"
	"github.com/streamwatch/streamwatch/enginetest/internal/social"
	"github.com/streamwatch/streamwatch/fetcher"
)

// A Player is a platform that plays a recording. It is a Fetcher and a Searcher. It shows each post
// from the time when the recorded platform showed it, and calls fail while they failed there. It
// plays from its creation on, by time.Now. In a testing/synctest bubble an outage of an hour takes
// a moment. Callers may call it at other times, and for other pages, than the recorded caller.
//
// A post is shown from its publication on. If a recorded call after the publication did not show it,
// it is shown from the first call that did. An error lasts until the next recorded call for the
// account, a rate limit for its recorded time. A Player is safe for concurrent use.
type Player struct {
	start    time.Time
	length   time.Duration
	pageSize int
	accounts []string
	targets  map[string]*played
}

var (
	_ fetcher.Fetcher  = (*Player)(nil)
	_ fetcher.Searcher = (*Player)(nil)
)

// played is the record of an account or a query. Times are since the start.
type played struct {
	userID string
	posts  []playedPost // by publication
	calls  []playedCall
}

type playedPost struct {
	recordedPost
	published, shown time.Duration
}

// playedCall is a call for the newest page.
type playedCall struct {
	at      time.Duration
	failure *recordedFailure // nil of one that was answered
}

// NewPlayer returns a Player that plays a recording of a Recorder, plain or gzipped, from now on. It
// reads the whole recording and ignores an incomplete last line.
func NewPlayer(recording io.Reader) (*Player, error) {
	in := bufio.NewReader(recording)
	if magic, _ := in.Peek(2); bytes.Equal(magic, []byte{0x1f, 0x8b}) {
		z, err := gzip.NewReader(in)
		if err != nil {
			return nil, fmt.Errorf("enginetest: cannot read the recording: %w", err)
		}
		in = bufio.NewReader(z)
	}
	p := &Player{start: time.Now(), targets: map[string]*played{}}
	var began time.Time
	dec := json.NewDecoder(in)
	for {
		var c recordedCall
		err := dec.Decode(&c)
		if err == io.EOF || errors.Is(err, io.ErrUnexpectedEOF) {
			break
		}
		if err == nil && (c.At.IsZero() || (c.Account == "") == (c.Query == "") || c.Error != nil && c.Error.unknown()) {
			err = errors.New("want lines that a Recorder wrote")
		}
		if err != nil {
			return nil, fmt.Errorf("enginetest: cannot read the recording at byte %d: %w", dec.InputOffset(), err)
		}
		if began.IsZero() {
			began = c.At
		}
		p.add(&c, began)
	}
	if began.IsZero() {
		return nil, errors.New("enginetest: the recording is empty: want at least one call")
	}
	for _, t := range p.targets {
		t.sort()
	}
	return p, nil
}

// add takes a line of the recording.
func (p *Player) add(c *recordedCall, began time.Time) {
	name := cmp.Or(c.Account, c.Query)
	t := p.targets[name]
	if t == nil {
		t = &played{}
		p.targets[name] = t
		if c.Account != "" {
			p.accounts = append(p.accounts, name)
		}
	}
	at := c.At.Sub(began)
	p.length = max(p.length, at)
	p.pageSize = max(p.pageSize, len(c.Posts)+c.Skipped)
	t.userID = cmp.Or(t.userID, c.UserID)
	for _, post := range c.Posts {
		if slices.ContainsFunc(t.posts, func(had playedPost) bool { return had.ID == post.ID }) {
			continue
		}
		published := post.Published.Sub(began)
		shown := published
		if !c.Older && t.answeredAfter(published) {
			shown = at
		}
		t.posts = append(t.posts, playedPost{post, published, shown})
	}
	if !c.Older {
		t.calls = append(t.calls, playedCall{at, c.Error})
	}
}

// answeredAfter reports whether a call later than a moment was answered.
func (t *played) answeredAfter(moment time.Duration) bool {
	return slices.ContainsFunc(t.calls, func(c playedCall) bool { return c.failure == nil && c.at > moment })
}

func (t *played) sort() {
	slices.SortStableFunc(t.posts, func(a, b playedPost) int { return cmp.Compare(a.published, b.published) })
	slices.SortStableFunc(t.calls, func(a, b playedCall) int { return cmp.Compare(a.at, b.at) })
}

// PlayArrivals returns a Player whose accounts post at the times of a recording of package arrivals.
// Its calls never fail. Its accounts have the handles of AccountNames.
func PlayArrivals(a *arrivals.Recording) *Player {
	p := &Player{start: time.Now(), length: a.Length, targets: map[string]*played{}, accounts: AccountNames(len(a.Posts))}
	for i, posts := range a.Posts {
		t := &played{userID: fmt.Sprint(firstAccountID + i)}
		for k, at := range posts {
			id := fmt.Sprintf("%s-%d", p.accounts[i], k+1)
			t.posts = append(t.posts, playedPost{recordedPost{ID: id, UserID: t.userID, Username: p.accounts[i]}, at, at})
		}
		p.targets[p.accounts[i]] = t
	}
	return p
}

// Accounts returns the handles of the recorded accounts, in the order of their first calls.
func (p *Player) Accounts() []string { return slices.Clone(p.accounts) }

// Length returns how long the recording is.
func (p *Player) Length() time.Duration { return p.length }

// Posted returns the posts of the recorded accounts that were shown until now, as Platform.Posted
// does. A monitor of these accounts must deliver them.
func (p *Player) Posted() []Truth {
	now := time.Since(p.start)
	var all []Truth
	for _, name := range p.accounts {
		t := p.targets[name]
		for i := range t.posts {
			post := &t.posts[i]
			if post.shown > now || post.ID == "" || post.UserID != t.userID {
				continue // not shown yet, without an id, or by another account
			}
			all = append(all, Truth{Account: name, ID: post.ID, PublishedAt: p.start.Add(post.published), VisibleAt: p.start.Add(post.shown)})
		}
	}
	slices.SortStableFunc(all, func(a, b Truth) int { return a.VisibleAt.Compare(b.VisibleAt) })
	return all
}

// Timeline answers as the recorded platform. For an account that was not recorded it returns
// fetcher.ErrNotFound. The cursor is the id of the oldest post of the page before.
func (p *Player) Timeline(ctx context.Context, q fetcher.TimelineQuery) (fetcher.Page, error) {
	return p.answer(ctx, strings.ToLower(q.Username), q.Cursor, q.Limit, q.Seen)
}

// Search answers a query, by the text that Recorder.Searcher gave it.
func (p *Player) Search(ctx context.Context, q fetcher.SearchQuery) (fetcher.Page, error) {
	return p.answer(ctx, q.Query, q.Cursor, q.Limit, q.Seen)
}

func (p *Player) answer(ctx context.Context, target, cursor string, limit int, seen func(string) bool) (fetcher.Page, error) {
	if err := ctx.Err(); err != nil {
		return fetcher.Page{}, err
	}
	t := p.targets[target]
	if t == nil {
		return fetcher.Page{}, fmt.Errorf("enginetest: %q is not in the recording: %w", target, fetcher.ErrNotFound)
	}
	now := time.Since(p.start)
	if err := t.failure(now); err != nil {
		return fetcher.Page{}, fmt.Errorf("enginetest: %q: %w", target, err)
	}
	size := cmp.Or(p.pageSize, 20)
	if limit > 0 {
		size = min(size, limit)
	}
	page := fetcher.Page{UserID: t.userID, ServerTime: p.start.Add(now)}
	high := sort.Search(len(t.posts), func(i int) bool { return t.posts[i].published > now })
	if cursor != "" {
		if high = slices.IndexFunc(t.posts, func(post playedPost) bool { return post.ID == cursor }); high < 0 {
			return fetcher.Page{}, fmt.Errorf("enginetest: Cursor %q is not allowed: want Page.Next of the page before", cursor)
		}
	}
	var reach fetcher.Reach
	last := ""
	for _, post := range slices.Backward(t.posts[:high]) {
		if post.shown > now {
			continue
		}
		if len(page.Tweets)+page.Skipped == size {
			page.Next = last
			break
		}
		last = post.ID
		reach.Add(p.start.Add(post.published))
		if seen != nil && seen(post.ID) {
			page.Skipped++
			continue
		}
		page.Tweets = append(page.Tweets, p.tweet(&post))
	}
	page.OldestAt = reach.Time()
	return page, nil
}

// failure returns the error that calls got at a moment.
func (t *played) failure(now time.Duration) error {
	next := sort.Search(len(t.calls), func(i int) bool { return t.calls[i].at > now })
	if next == 0 || t.calls[next-1].failure == nil {
		return nil
	}
	last := t.calls[next-1]
	if last.failure.Kind == failureRateLimit && now-last.at >= last.failure.RetryAfter {
		return nil
	}
	return last.failure.err(now - last.at)
}

func (p *Player) tweet(post *playedPost) fetcher.Tweet {
	t := social.Author{ID: post.UserID, Name: post.Username}.Post(0, "Post "+post.ID, p.start.Add(post.published))
	t.ID, t.ConversationID, t.Permalink = post.ID, post.ID, social.Host+"/@"+post.Username+"/"+post.ID
	t.InReplyToStatusID, t.RetweetedStatusID, t.QuotedStatusID = post.ReplyTo, post.RepostOf, post.Quotes
	t.IsRetweet, t.IsQuoteStatus = post.RepostOf != "", post.Quotes != ""
	return t
}
