package push

import (
	"context"
	"slices"
	"testing"

	"github.com/streamwatch/streamwatch/fetcher"
)

// A post of an account that is wanted by two names is for both.
func TestPostOfTwoNames(t *testing.T) {
	s := &script{accounts: []fetcher.Account{{Username: "alice.example.com", UserID: "7"}, {Username: "esa", UserID: "8"}, {Username: "did:plc:x", UserID: "7"}}}
	s.connect = func(ctx context.Context, _ int, q fetcher.StreamQuery, emit func(fetcher.Signal) error) error {
		if err := up(q, emit); err != nil {
			return err
		}
		if err := emit(fetcher.Signal{Kind: fetcher.SignalPost, Post: &fetcher.Tweet{ID: "1", UserID: "7"}, Position: "p1"}); err != nil {
			return err
		}
		<-ctx.Done()
		return ctx.Err()
	}
	supervised(t, s, func(sv *Supervisor) {
		if want := []string{"alice.example.com 1", "did:plc:x 1"}; !slices.Equal(s.posts, want) {
			t.Fatalf("posts %v, want %v", s.posts, want)
		}
		sv.cfg.positions.Done(s.numbers[:1])
		if at := sv.cfg.positions.Resume(); at != "" {
			t.Errorf("resumes at %q with one of two done", at)
		}
		if st := sv.cfg.health.Stats(); st.Posts != 1 {
			t.Errorf("%d posts, want the one that came", st.Posts)
		}
	})
}
