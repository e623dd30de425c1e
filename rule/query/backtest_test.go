package query_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/streamwatch/streamwatch/billing"
	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/rule/query"
)

func TestBacktest(t *testing.T) {
	var posts []*fetcher.Tweet
	for i := range 48 {
		post := &fetcher.Tweet{Text: "dog", PublishedAt: noon.Add(time.Duration(47-i) * time.Hour)} // newest first
		if i%4 == 0 {
			post.Text = "cat"
		}
		posts = append(posts, post)
	}
	posts = append(posts, &fetcher.Tweet{Text: "cat", PublishedAt: noon.Add(48 * time.Hour)})
	cost := query.Cost{PerDay: 500 * billing.Credit, PerHit: 2 * billing.Credit}

	trial := query.Backtest(parse(t, "cat", query.Union), slices.Values(posts), cost)
	if trial.Posts != 49 || trial.Hits != 13 || trial.Unknown != 0 {
		t.Errorf("%+v, want 13 hits of 49", trial)
	}
	if !trial.First.Equal(noon) || !trial.Last.Equal(noon.Add(48*time.Hour)) {
		t.Errorf("from %v to %v", trial.First, trial.Last)
	}
	if trial.HitRate() != 13.0/49 || trial.HitsPerDay() != 6.5 || trial.CostPerDay() != 513*billing.Credit {
		t.Errorf("rate %v, %v hits a day, cost %v", trial.HitRate(), trial.HitsPerDay(), trial.CostPerDay())
	}

	trial = query.Backtest(parse(t, "cat is:verified", query.Union), slices.Values(posts), cost)
	if trial.Hits != 0 || trial.Unknown != 13 {
		t.Errorf("%+v, want 13 unknown", trial)
	}
	trial = query.Backtest(parse(t, "cat", query.Union), slices.Values(posts[:0]), cost)
	if trial.HitRate() != 0 || trial.HitsPerDay() != 0 || trial.CostPerDay() != cost.PerDay {
		t.Errorf("no posts: %+v", trial)
	}
}

func TestReader(t *testing.T) {
	for _, row := range []struct {
		name, input string
		ids         string
		err         string // part of it, "" for none
	}{
		{"two", `{"id":"1","text":"a"}` + "\n\n" + `{"id":"2"}`, "1 2", ""},
		{"empty", "", "", ""},
		{"damaged", `{"id":"1"}` + "\n\n{\n" + `{"id":"2"}`, "1", "rule: line 3 is not a post: "},
		{"long", `{"id":"1"}` + "\n" + strings.Repeat(" ", 1<<20+1), "1", "rule: line 2 is longer than 1 MiB"},
	} {
		r := query.NewReader(strings.NewReader(row.input))
		var ids []string
		for post := range r.Tweets() {
			ids = append(ids, post.ID)
		}
		if got := strings.Join(ids, " "); got != row.ids {
			t.Errorf("%s: ids %s, want %s", row.name, got, row.ids)
		}
		if err := r.Err(); (err == nil) != (row.err == "") || err != nil && !strings.Contains(err.Error(), row.err) {
			t.Errorf("%s: %v, want %q", row.name, err, row.err)
		}
	}
	broken := errors.New("broken")
	r := query.NewReader(iotest.ErrReader(broken))
	for range r.Tweets() {
		t.Error("a post from a broken reader")
	}
	if !errors.Is(r.Err(), broken) {
		t.Errorf("error %v, want %v", r.Err(), broken)
	}
	r = query.NewReader(strings.NewReader(`{"id":"1212092628029698048"}`))
	for post := range r.Tweets() {
		if want := time.Date(2019, 12, 31, 19, 26, 16, 771e6, time.UTC); !post.PublishedAt.Equal(want) {
			t.Errorf("published at %v, want %v", post.PublishedAt, want)
		}
	}
}
