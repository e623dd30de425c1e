package searchtimeline_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/fetcher/searchtimeline"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

// by is a post of an author, minutes before noon.
func by(author string, minutes int) fetcher.Tweet {
	at := noon.Add(-time.Duration(minutes) * time.Minute)
	return fetcher.Tweet{ID: fmt.Sprint(author, minutes), Username: author, UserID: "id of " + author, PublishedAt: at}
}

// answers is a Searcher that gives every query the same answer, and notes it.
type answers struct {
	page  fetcher.Page
	err   error
	asked []fetcher.SearchQuery
}

func (a *answers) Search(_ context.Context, q fetcher.SearchQuery) (fetcher.Page, error) {
	a.asked = append(a.asked, q)
	return a.page, a.err
}

func newFetcher(t *testing.T, cfg searchtimeline.Config) *searchtimeline.Fetcher {
	t.Helper()
	f, err := searchtimeline.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func of(names ...string) (qs []fetcher.TimelineQuery) {
	for _, name := range names {
		qs = append(qs, fetcher.TimelineQuery{Username: name})
	}
	return qs
}

// show writes a page as the ids of its posts, how many others there are, how
// many minutes it reaches back, and where it goes on.
func show(p fetcher.Page) string {
	if p.Err != nil {
		return "error"
	}
	var parts []string
	for _, tw := range p.Tweets {
		parts = append(parts, tw.ID)
	}
	parts = append(parts, fmt.Sprintf("others %d", p.Others))
	if !p.OldestAt.IsZero() {
		parts = append(parts, fmt.Sprintf("back %g", noon.Sub(p.OldestAt).Minutes()))
	}
	if p.Next != "" {
		parts = append(parts, "next "+p.Next)
	}
	return strings.Join(parts, ", ")
}

func TestSharedAnswer(t *testing.T) {
	for name, row := range map[string]struct {
		answer fetcher.Page
		qs     []fetcher.TimelineQuery
		want   []string
	}{
		"split by author": {fetcher.Page{Tweets: []fetcher.Tweet{by("a", 1), by("b", 2), by("a", 3)}}, of("a", "b"),
			[]string{"a1, a3, others 1, back 2", "b2, others 2, back 2"}},
		"a cut one tells of the silent how far back they were silent": {
			fetcher.Page{Tweets: []fetcher.Tweet{by("a", 1), by("a", 8), by("a", 9)}, Next: "more"}, of("a", "b"),
			[]string{"a1, a8, a9, others 0, back 8, next alone:", "others 3, back 8, next alone:"}},
		"handles are the same in any case, with @ or without": {fetcher.Page{Tweets: []fetcher.Tweet{by("NASA", 1), by("@b", 2)}}, of("@nasa", "B"),
			[]string{"NASA1, others 1, back 1", "@b2, others 1, back 1"}},
		"a known id tells, too": {fetcher.Page{Tweets: []fetcher.Tweet{{ID: "x", UserID: "7", PublishedAt: noon}}},
			[]fetcher.TimelineQuery{{Username: "a", UserID: "7"}, {Username: "b", UserID: "8"}},
			[]string{"x, others 0, back 0", "others 1, back 0"}},
		"a post that could be anybody's has all read alone": {fetcher.Page{Tweets: []fetcher.Tweet{by("a", 1), {ID: "x", PublishedAt: noon}}}, of("a", "b"),
			[]string{"others 0, next alone:", "others 0, next alone:"}},
		"a stranger's is nobody's": {fetcher.Page{Tweets: []fetcher.Tweet{by("c", 1), by("b", 2)}}, of("a", "b"),
			[]string{"others 2, back 1", "b2, others 1, back 1"}},
		"an empty one": {fetcher.Page{}, of("a", "b"), []string{"others 0", "others 0"}},
		"out of order it reaches no further than its newest post": {
			fetcher.Page{Tweets: []fetcher.Tweet{by("a", 9), by("a", 1), by("b", 8)}, OldestAt: noon.Add(-time.Hour), Next: "more"}, of("a", "b"),
			[]string{"a9, a1, others 1, back 1, next alone:", "b8, others 2, back 1, next alone:"}},
		"left-out posts are somebody's": {fetcher.Page{Tweets: []fetcher.Tweet{by("a", 1)}, Skipped: 5, OldestAt: noon.Add(-6 * time.Minute)}, of("a", "b"),
			[]string{"a1, others 5, back 6", "others 6, back 6"}},
		"a later page is read alone": {fetcher.Page{Tweets: []fetcher.Tweet{by("a", 1), by("b", 2)}},
			[]fetcher.TimelineQuery{{Username: "a"}, {Username: "b"}, {Username: "c", Cursor: "alone:7"}},
			[]string{"a1, others 1, back 1", "b2, others 1, back 1", "others 0, next alone:7"}},
		"a handle that no query can have": {fetcher.Page{Tweets: []fetcher.Tweet{by("a", 1)}}, of("a", "b) OR (c", "d"),
			[]string{"a1, others 0, back 1", "error", "others 1, back 1"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := &answers{page: row.answer}
			row.answer.RateLimit = fetcher.RateLimit{Known: true, Remaining: 3}
			row.answer.ServerTime = noon
			s.page = row.answer
			pages, err := newFetcher(t, searchtimeline.Config{Searcher: s}).Timelines(t.Context(), row.qs)
			var got []string
			for i := range pages {
				got = append(got, show(pages[i]))
			}
			if err != nil || !slices.Equal(got, row.want) {
				t.Errorf("pages %q %v, want %q", got, err, row.want)
			}
			if p := pages[0]; p.RateLimit.Remaining != 3 || !p.ServerTime.Equal(noon) {
				t.Errorf("rate limit %+v and clock %s are not passed on", p.RateLimit, p.ServerTime)
			}
			if len(s.asked) != 1 || s.asked[0].Type != "Latest" || s.asked[0].Cursor != "" {
				t.Errorf("asked %+v, want one search of the latest", s.asked)
			}
		})
	}
}

func TestPacking(t *testing.T) {
	long := strings.Repeat("x", 20)
	for name, row := range map[string]struct {
		qs    []fetcher.TimelineQuery
		max   int
		query string
		alone int
	}{
		"the same accounts make the same text":     {of("b", "@c", "a"), 0, "from:a OR from:b OR from:c", 0},
		"twice the same is asked once":             {of("a", "b", "a"), 0, "from:a OR from:b", 0},
		"what does not fit is read alone":          {of("a", long, "b", "c"), 32, "from:a OR from:b OR from:c", 1},
		"to the last character":                    {of("a", "b23456", "c23456"), 36, "from:a OR from:b23456 OR from:c23456", 0},
		"and none beyond":                          {of("a", "b23456", "c23456"), 35, "from:a OR from:b23456", 1},
		"characters count, not bytes":              {of("a", "é23456", "ü23456"), 36, "from:a OR from:é23456 OR from:ü23456", 0},
		"who fits alone is asked for alone":        {of(long+"1", long+"2"), 32, "from:" + long + "1", 1},
		"one alone":                                {of("a"), 0, "from:a", 0},
		"handles of other platforms":               {of("a@b.example", "c.bsky.social", "d-e_f"), 0, "from:a@b.example OR from:c.bsky.social OR from:d-e_f", 0},
		"a digit is a handle as good as any other": {of("1", "2"), 0, "from:1 OR from:2", 0},
	} {
		t.Run(name, func(t *testing.T) {
			s := &answers{}
			f := newFetcher(t, searchtimeline.Config{Searcher: s, MaxLength: row.max})
			pages, err := f.Timelines(t.Context(), row.qs)
			alone := 0
			for i := range pages {
				if pages[i].Next == "alone:" {
					alone++
				}
			}
			if err != nil || len(s.asked) != 1 || s.asked[0].Query != row.query || alone != row.alone {
				t.Errorf("asked %+v, %d alone, %v; want %q and %d", s.asked, alone, err, row.query, row.alone)
			}
		})
	}
}

func TestBatchLimitFits(t *testing.T) {
	for _, length := range []int{0, 32, 256, 512, 1024} {
		s := &answers{}
		f := newFetcher(t, searchtimeline.Config{Searcher: s, MaxLength: length})
		names := make([]string, f.BatchLimit())
		for i := range names {
			names[i] = fmt.Sprintf("%015d", i)
		}
		pages, err := f.Timelines(t.Context(), of(names...))
		if err != nil || slices.ContainsFunc(pages, func(p fetcher.Page) bool { return p.Next != "" }) {
			t.Errorf("length %d: %d accounts do not fit: %v", length, len(names), err)
		}
		if length == 0 && len(names) != 21 {
			t.Errorf("%d accounts by default, want 21", len(names))
		}
	}
}

// Timeline reads page after page of one account.
func TestReadAlone(t *testing.T) {
	s := &answers{page: fetcher.Page{Tweets: []fetcher.Tweet{by("A", 1), by("a", 2)}, Next: "17"}}
	f := newFetcher(t, searchtimeline.Config{Searcher: s})
	for _, row := range []struct{ cursor, asked string }{{"", ""}, {"alone:", ""}, {"alone:17", "17"}} {
		p, err := f.Timeline(t.Context(), fetcher.TimelineQuery{Username: "@a", Cursor: row.cursor, Limit: 5})
		asked := s.asked[len(s.asked)-1]
		if err != nil || show(p) != "A1, a2, others 0, back 1, next alone:17" || p.UserID != "id of A" {
			t.Errorf("cursor %q: %s, id %q, %v", row.cursor, show(p), p.UserID, err)
		}
		if asked.Query != "from:a" || asked.Cursor != row.asked || asked.Limit != 5 || asked.Type != "Latest" {
			t.Errorf("cursor %q: asked %+v", row.cursor, asked)
		}
	}
	for _, name := range []string{"", "a b", `"a"`, "a:b", strings.Repeat("a", 508)} {
		if _, err := f.Timeline(t.Context(), fetcher.TimelineQuery{Username: name}); !errors.Is(err, fetcher.ErrNotFound) {
			t.Errorf("username %q: %v", name, err)
		}
	}
}

func TestSeenAndLimitArePassedOn(t *testing.T) {
	s := &answers{}
	f := newFetcher(t, searchtimeline.Config{Searcher: s})
	knows := func(known string) func(string) bool { return func(id string) bool { return id == known } }
	_, err := f.Timelines(t.Context(), []fetcher.TimelineQuery{{Username: "a", Seen: knows("1"), Limit: 5}, {Username: "b", Seen: knows("2"), Limit: 9}, {Username: "c"}})
	if q := s.asked[0]; err != nil || q.Limit != 9 || !q.Seen("1") || !q.Seen("2") || q.Seen("3") {
		t.Errorf("%+v %v", q, err)
	}
	_, err = f.Timelines(t.Context(), of("a", "b"))
	if err != nil || s.asked[1].Seen != nil {
		t.Errorf("nobody knows a post, and Seen is set: %v", err)
	}
}

func TestErrorsArePassedOn(t *testing.T) {
	limited := &fetcher.RateLimitError{RetryAfter: time.Minute}
	for name, s := range map[string]*answers{
		"of the search": {err: limited},
		"of the page":   {page: fetcher.Page{Err: limited}},
	} {
		f := newFetcher(t, searchtimeline.Config{Searcher: s})
		if pages, err := f.Timelines(t.Context(), of("a", "b")); !errors.Is(err, limited) || pages != nil {
			t.Errorf("%s: %v %v", name, pages, err)
		}
		if _, err := f.Timelines(t.Context(), of("a")); !errors.Is(err, limited) {
			t.Errorf("%s, of one account: %v", name, err)
		}
	}
	f := newFetcher(t, searchtimeline.Config{Searcher: &answers{page: fetcher.Page{Unchanged: true}}})
	if _, err := f.Timelines(t.Context(), of("a", "b")); err == nil {
		t.Error("an unchanged page is accepted that no query knows")
	}
}

func TestNewRefuses(t *testing.T) {
	for name, cfg := range map[string]searchtimeline.Config{
		"no Searcher":       {},
		"too short a query": {Searcher: &answers{}, MaxLength: 31},
		"a negative length": {Searcher: &answers{}, MaxLength: -1},
	} {
		if _, err := searchtimeline.New(cfg); err == nil || !strings.HasPrefix(err.Error(), "searchtimeline: Config.") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// What the platform charges for a search is counted once, beside errors, too.
func TestSharedAnswerIsBilledOnce(t *testing.T) {
	billed := fetcher.Billed{Posts: 2}
	failed := errors.New("cut off")
	for name, row := range map[string]struct {
		page fetcher.Page
		err  error
		qs   []fetcher.TimelineQuery
	}{
		"shared":             {fetcher.Page{Tweets: []fetcher.Tweet{by("a", 1), by("b", 2)}}, nil, of("a", "b")},
		"not the first":      {fetcher.Page{Tweets: []fetcher.Tweet{by("a", 1), by("b", 2)}}, nil, of("b) OR (c", "a", "b")},
		"read alone":         {fetcher.Page{Tweets: []fetcher.Tweet{by("a", 1), {ID: "x", PublishedAt: noon}}}, nil, of("a", "b")},
		"of one":             {fetcher.Page{Tweets: []fetcher.Tweet{by("a", 1), by("a", 2)}}, nil, of("a")},
		"failed":             {fetcher.Page{}, failed, of("a", "b")},
		"failed by a page":   {fetcher.Page{Err: failed}, nil, of("a", "b")},
		"of one that fails":  {fetcher.Page{Err: failed}, nil, of("a")},
		"not to be compared": {fetcher.Page{Unchanged: true}, nil, of("a", "b")},
	} {
		row.page.Billed = billed
		f := newFetcher(t, searchtimeline.Config{Searcher: &answers{page: row.page, err: row.err}})
		pages, err := f.Timelines(t.Context(), row.qs)
		var sum fetcher.Billed
		for i := range pages {
			sum = sum.Plus(pages[i].Billed)
		}
		wantErr := row.err != nil || row.page.Err != nil || row.page.Unchanged
		if sum != billed || (err != nil) != wantErr {
			t.Errorf("%s: %+v is billed, error %v, want %+v", name, sum, err, billed)
		}
	}
}
