package detect

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/fetcher"
)

// searchable is a world whose posts can be searched: a query answers with the
// posts that have its word in their text, newest first.
type searchable struct {
	*world
	asked     sync.Mutex
	questions []question
	unordered bool // answers are oldest first
	// answer may answer a question itself; nil means the world does.
	answer func(q fetcher.SearchQuery) (*fetcher.Page, error)
}

type question struct {
	query, cursor string
	limit         int
	known         bool
	at            time.Time
}

func newSearchable() *searchable { return &searchable{world: newWorld()} }

func (w *searchable) Search(_ context.Context, q fetcher.SearchQuery) (fetcher.Page, error) {
	w.asked.Lock()
	w.questions = append(w.questions, question{q.Query, q.Cursor, q.Limit, q.Known != 0, time.Now()})
	answer := w.answer
	w.asked.Unlock()
	if answer != nil {
		if pg, err := answer(q); pg != nil || err != nil {
			if pg == nil {
				pg = &fetcher.Page{}
			}
			return *pg, err
		}
	}
	return w.search(q), nil
}

// search is the world's answer.
func (w *searchable) search(q fetcher.SearchQuery) fetcher.Page {
	w.mu.Lock()
	defer w.mu.Unlock()
	var shown []fetcher.Tweet
	for _, posts := range w.posts {
		for _, p := range posts {
			if !p.visible.After(time.Now()) && slices.Contains(strings.Fields(p.tweet.Text), q.Query) {
				shown = append(shown, p.tweet)
			}
		}
	}
	slices.SortFunc(shown, func(a, b fetcher.Tweet) int {
		if w.unordered {
			a, b = b, a
		}
		if c := b.PublishedAt.Compare(a.PublishedAt); c != 0 {
			return c
		}
		return strings.Compare(b.ID, a.ID)
	})
	if q.Cursor != "" {
		i := slices.IndexFunc(shown, func(t fetcher.Tweet) bool { return t.ID == q.Cursor })
		shown = shown[i+1:]
	}
	var pg fetcher.Page
	if n := min(q.Limit, w.pageSize); len(shown) > n {
		shown = shown[:n]
		pg.Next = shown[n-1].ID
	}
	pg.Tweets = shown
	return pg
}

func (w *searchable) setAnswer(f func(fetcher.SearchQuery) (*fetcher.Page, error)) {
	w.asked.Lock()
	defer w.asked.Unlock()
	w.answer = f
}

// polled lists when a query's first pages were asked for; all pages are counted.
func (w *searchable) polled(query string) (times []time.Time, pages int) {
	w.asked.Lock()
	defer w.asked.Unlock()
	for _, q := range w.questions {
		if q.query == query {
			if pages++; q.cursor == "" {
				times = append(times, q.at)
			}
		}
	}
	return times, pages
}

// say publishes a text, whose last word is its id.
func (w *searchable) say(account, text string, late time.Duration) {
	id := text[strings.LastIndexByte(text, ' ')+1:]
	w.publishText(account, id, text, late)
}

// detector makes one that searches the world; tune may be nil.
func (w *searchable) detector(t *testing.T, tune func(*settings)) *Detector {
	return w.world.detector(t, func(c *settings) {
		c.Fetcher = w
		if tune != nil {
			tune(c)
		}
	})
}

// asks is a rule's subscription from now on, every 10 s, up to 20 posts a poll.
func asks(source, query string) QuerySubscription {
	return QuerySubscription{Source: deliver.Source{Kind: deliver.SourceRule, ID: source, Owner: "o", Name: source},
		Query: query, Interval: 10 * time.Second, MaxResults: 20, Since: time.Now()}
}

// byAuthors makes it one whose posts those accounts' timelines have, too.
func byAuthors(s QuerySubscription, authors ...string) QuerySubscription {
	s.Authors = authors
	s.Answers = program(s.Query)
	return s
}

func setQuery(t *testing.T, d *Detector, s QuerySubscription) {
	t.Helper()
	if err := d.SetQuery(t.Context(), s); err != nil {
		t.Fatal(err)
	}
}

// inQueries runs a test in a bubble, on a world with a detector that runs.
func inQueries(t *testing.T, tune func(*settings), test func(t *testing.T, w *searchable, d *Detector)) {
	synctest.Test(t, func(t *testing.T) {
		w := newSearchable()
		d := w.detector(t, tune)
		defer start(t, d)()
		test(t, w, d)
	})
}

// wantSorted compares the events without their order.
func wantSorted(t *testing.T, w *searchable, want ...string) {
	t.Helper()
	got := w.got()
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("events = %v\nwant     %v", got, want)
	}
}

// wantOf compares the events of one source, without their order.
func wantOf(t *testing.T, w *searchable, source string, ids ...string) {
	t.Helper()
	var got []string
	for _, ev := range w.got() {
		if of, id, _ := strings.Cut(ev, ":"); of == source {
			got = append(got, id)
		}
	}
	slices.Sort(got)
	slices.Sort(ids)
	if !slices.Equal(got, ids) {
		t.Errorf("%s got %v, want %v", source, got, ids)
	}
}

// notes are what a hook was told.
type notes[T any] struct {
	mu   sync.Mutex
	list []T
}

func (n *notes[T]) add(v T) { n.do(func() { n.list = append(n.list, v) }) }

func (n *notes[T]) do(change func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	change()
}

func (n *notes[T]) all() []T {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clone(n.list)
}
