package push

import (
	"context"
	"slices"
	"testing"

	"github.com/streamwatch/streamwatch/fetcher"
)

// A post that matches several queries is done when all of them are.
func TestPostOfSeveralQueries(t *testing.T) {
	s := &script{asQueries: true, accounts: []fetcher.Account{{Username: "moon"}, {Username: "sun"}}}
	s.connect = func(ctx context.Context, _ int, q fetcher.StreamQuery, emit func(fetcher.Signal) error) error {
		if len(q.Queries) != 2 || q.Queries[0].Query != "moon" || q.Accounts != nil || q.QueryChanges == nil {
			t.Errorf("asked for %+v", q)
		}
		for _, sig := range []fetcher.Signal{
			{Kind: fetcher.SignalUp, Queries: []string{"moon", "sun"}},
			{Kind: fetcher.SignalPost, Post: &fetcher.Tweet{ID: "1", Username: "esa"}, Queries: []string{"moon", "sun"}, Position: "p1"},
			{Kind: fetcher.SignalPost, Post: &fetcher.Tweet{ID: "2", Username: "esa"}},
		} {
			if err := emit(sig); err != nil {
				return err
			}
		}
		<-ctx.Done()
		return ctx.Err()
	}
	supervised(t, s, func(sv *Supervisor) {
		if want := []string{"moon 1", "sun 1"}; !slices.Equal(s.posts, want) {
			t.Fatalf("posts %v, want %v", s.posts, want)
		}
		sv.cfg.positions.Done(s.numbers[:1])
		if at := sv.cfg.positions.Resume(); at != "" {
			t.Errorf("resumes at %q with one of two done", at)
		}
		sv.cfg.positions.Done(s.numbers[1:])
		if at := sv.cfg.positions.Resume(); at != "p1" {
			t.Errorf("resumes at %q, want p1", at)
		}
		if st := sv.cfg.health.Stats(); st.Accounts != 2 || st.Posts != 1 || st.Strangers != 1 {
			t.Errorf("stats %+v", st)
		}
	})
}
