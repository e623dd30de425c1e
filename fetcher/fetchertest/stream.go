package fetchertest

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/streamwatch/streamwatch/fetcher"
)

func streamCases() []streamCase {
	return slices.Concat(streamPostCases(), streamChangeCases(), streamEndCases())
}

func streamPostCases() []streamCase {
	return []streamCase{
		{"SignalUp is the first, with the accounts", func(t *streamTest) {
			if g := t.listen("", t.a, t.b).up(t.a, t.b); g.Resumed {
				t.Errorf("SignalUp says Resumed although the query has no Position")
			}
		}},
		{"posts come in order, with whose they are", func(t *streamTest) {
			l := t.listen("", t.a, t.b)
			l.up(t.a, t.b)
			ids := map[string]bool{}
			for i := range 10 {
				a := []fetcher.Account{t.a, t.b}[i%2]
				t.up.Post(a, fmt.Sprint("number ", i, " of them"))
			}
			for i := range 10 {
				a := []fetcher.Account{t.a, t.b}[i%2]
				if g := l.post(a, fmt.Sprint("number ", i, " of them")); g.Post != nil {
					ids[g.Post.ID] = true
				}
			}
			if len(ids) != 10 {
				t.Errorf("10 posts have %d ids: want one for each", len(ids))
			}
		}},
		{"posts of other accounts do not come", func(t *streamTest) {
			l := t.listen("", t.a)
			l.up(t.a)
			t.up.Post(t.b, "of another")
			t.up.Post(t.a, "of its own")
			l.post(t.a, "of its own")
		}},
		{"an edit is no post", func(t *streamTest) {
			if t.up.Edit == nil {
				t.Skip("StreamUpstream.Edit is nil")
			}
			l := t.listen("", t.a)
			l.up(t.a)
			t.up.Post(t.a, "first words")
			made := l.post(t.a, "first words")
			t.up.Edit(t.a, "other words")
			switch g := l.next("the edit"); {
			case g.Kind != fetcher.SignalEdit || g.Post == nil:
				t.Errorf("an edit comes as a signal of the kind %d: want SignalEdit, with the Post", g.Kind)
			case g.Post.ID != made.Post.ID || !shows(g.Post, "other words"):
				t.Errorf("an edit brings the post %q with %q: want %q with its new words", g.Post.ID, g.Post.Text, made.Post.ID)
			}
		}},
		{"a deletion is no post", func(t *streamTest) {
			if t.up.Delete == nil {
				t.Skip("StreamUpstream.Delete is nil")
			}
			l := t.listen("", t.a)
			l.up(t.a)
			t.up.Post(t.a, "to be deleted")
			made := l.post(t.a, "to be deleted")
			t.up.Delete(t.a)
			if g := l.next("the deletion"); g.Kind != fetcher.SignalDelete || g.ID != made.Post.ID {
				t.Errorf("a deletion comes as a signal of the kind %d with the ID %q: want SignalDelete with %q", g.Kind, g.ID, made.Post.ID)
			}
		}},
		{"a heartbeat shows that the stream is alive", func(t *streamTest) {
			if t.up.Silent {
				t.Skip("StreamUpstream.Silent is true")
			}
			l := t.listen("", t.a)
			l.up(t.a)
			if g := l.any("SignalHeartbeat, while nothing happens"); g.Kind != fetcher.SignalHeartbeat {
				t.Errorf("a signal of the kind %d comes while nothing happens: want SignalHeartbeat", g.Kind)
			}
		}},
		{"a position resumes with nothing lost", func(t *streamTest) {
			if !t.up.Resumes {
				t.Skip("StreamUpstream.Resumes is false")
			}
			l := t.listen("", t.a)
			l.up(t.a)
			t.up.Post(t.a, "one")
			t.up.Post(t.a, "two")
			from := l.post(t.a, "one").Position
			l.post(t.a, "two")
			l.stop()
			if from == "" {
				t.Fatalf("a post has no Position although the platform resumes")
			}
			t.up.Post(t.a, "three")
			t.streamer = t.up.open(t)
			l = t.listen(from, t.a)
			l.up(t.a)
			t.up.Post(t.a, "four")
			var got []string
			for len(got) == 0 || got[len(got)-1] != "four" {
				g := l.next("the posts since the position, and a new one")
				if g.Kind != fetcher.SignalPost || g.Post == nil {
					t.Fatalf("a signal of the kind %d comes: want the posts since the position", g.Kind)
				}
				for _, text := range []string{"one", "two", "three", "four"} {
					if shows(g.Post, text) && !(text == "one" && len(got) == 0) {
						got = append(got, text) // the one before may come again
					}
				}
			}
			if !slices.Equal(got, []string{"two", "three", "four"}) {
				t.Errorf("from the position of the first post on come %q: want two, three, four", got)
			}
		}},
		{"SignalUp does not say Resumed when something is lost", func(t *streamTest) {
			if t.up.Clamp == nil {
				t.Skip("StreamUpstream.Clamp is nil")
			}
			l := t.listen("", t.a)
			l.up(t.a)
			t.up.Post(t.a, "one")
			from := l.post(t.a, "one").Position
			l.stop()
			t.up.Post(t.a, "lost")
			t.up.Clamp()
			t.deadline = time.Now().Add(t.kit.patience) // in a bubble Clamp may let hours pass
			if g := t.listen(from, t.a).up(t.a); g.Resumed {
				t.Errorf("SignalUp says Resumed of a position that is too old")
			}
		}},
	}
}

func streamChangeCases() []streamCase {
	return []streamCase{
		{"an account is added by Changes", func(t *streamTest) {
			l := t.listen("", t.a)
			l.up(t.a)
			l = l.change(t.a, t.b)
			t.up.Post(t.b, "of the added")
			l.post(t.b, "of the added")
			t.up.Post(t.a, "of the old")
			l.post(t.a, "of the old")
		}},
		{"an account is removed by Changes", func(t *streamTest) {
			l := t.listen("", t.a, t.b, t.c)
			l.up(t.a, t.b, t.c)
			l = l.change(t.a, t.c)
			t.up.Post(t.b, "of the removed")
			t.up.Post(t.c, "of another")
			l.post(t.c, "of another")
		}},
		{"Changes that are closed do not end the stream", func(t *streamTest) {
			l := t.listen("", t.a)
			l.up(t.a)
			close(l.changes)
			t.up.Post(t.a, "still there")
			l.post(t.a, "still there")
			t.up.Post(t.a, "and later")
			l.post(t.a, "and later")
		}},
	}
}

// change asks for other accounts. It returns the stream that pushes them: the same stream, or a
// new one after ErrResubscribe.
func (l *listener) change(accounts ...fetcher.Account) *listener {
	l.t.Helper()
	l.changes <- accounts
	late := time.NewTimer(time.Until(l.t.deadline))
	defer late.Stop()
	for {
		select {
		case err := <-l.ended:
			l.ended <- err
			if !errors.Is(err, fetcher.ErrResubscribe) {
				l.t.Fatalf("the stream ended with %v when the accounts changed: want SignalAccounts, or ErrResubscribe", err)
			}
			l = l.t.listen(l.position, accounts...)
			l.up(accounts...)
			return l
		case g := <-l.signals:
			if g.Position != "" {
				l.position = g.Position
			}
			switch {
			case g.Kind == fetcher.SignalAccounts:
				if !l.t.up.Gradual || sameAccounts(g.Accounts, accounts) {
					l.tells(g, accounts)
					return l
				}
			case g.Kind != fetcher.SignalHeartbeat && !l.t.up.Gradual:
				l.t.Fatalf("a signal of the kind %d comes when the accounts changed: want SignalAccounts", g.Kind)
			}
		case <-late.C:
			l.t.Fatalf("waited %s in vain for SignalAccounts, or ErrResubscribe", l.t.kit.patience)
		}
	}
}

func streamEndCases() []streamCase {
	return []streamCase{
		{"Stream returns when its context ends", func(t *streamTest) {
			l := t.listen("", t.a)
			l.up(t.a)
			l.stop()
		}},
		{"Stream returns the error of emit", func(t *streamTest) {
			for _, kind := range []fetcher.SignalKind{fetcher.SignalUp, fetcher.SignalPost} {
				enough := errors.New("enough")
				up := make(chan struct{}, 1)
				l := t.listenWith("", []fetcher.Account{t.a}, func(g fetcher.Signal) error {
					if g.Kind == kind {
						return enough
					}
					if g.Kind == fetcher.SignalUp && t.up.Query == nil || sameAccounts(g.Accounts, []fetcher.Account{t.a}) { // a query takes effect when a signal lists it
						select {
						case up <- struct{}{}:
						default: // it was told before
						}
					}
					return nil
				})
				if kind == fetcher.SignalPost {
					select {
					case <-up:
					case <-time.After(time.Until(t.deadline)):
						t.Fatalf("waited %s in vain for SignalUp", t.kit.patience)
					}
					t.up.Post(t.a, "the last")
				}
				if err := l.over(); !errors.Is(err, enough) {
					t.Errorf("Stream returns %v when emit returns an error for a signal of the kind %d: want that error", err, kind)
				}
			}
		}},
		{"a connection that breaks is an error", func(t *streamTest) {
			if t.up.Break == nil {
				t.Skip("StreamUpstream.Break is nil")
			}
			l := t.listen("", t.a)
			l.up(t.a)
			t.up.Break()
			if err := l.over(); err == nil || errors.Is(err, fetcher.ErrResubscribe) {
				t.Errorf("Stream returns %v when the connection breaks: want an error that says so", err)
			}
			l = t.listen("", t.a)
			l.up(t.a)
		}},
	}
}
