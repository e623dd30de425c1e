package mastodon_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/fetcher/mastodon"
	"github.com/streamwatch/streamwatch/secret"
)

// TestWire follows a post through all calls of the adapter, on a fake server.
func TestWire(t *testing.T) {
	fake := newHomeServer()
	server := httptest.NewServer(fake)
	t.Cleanup(server.Close)
	wire{t, server.URL, fake.token}.run()
}

// TestServerWire does the same on a real server, where the token's user posts and
// deletes for the test.
func TestServerWire(t *testing.T) {
	address, token := os.Getenv("MASTODON_URL"), os.Getenv("MASTODON_TOKEN")
	if address == "" || token == "" {
		t.Skip("SKIPPED: NO REAL MASTODON SERVER: set MASTODON_URL to a server and MASTODON_TOKEN to an access token of a user with the scopes read and write:statuses, in whose name this test posts")
	}
	wire{t, strings.TrimSuffix(address, "/"), token}.run()
}

// wire is a server and a user of it.
type wire struct {
	*testing.T
	url, token string
}

// ask calls the API and decodes its answer into into; an error ends the test.
func (w wire) ask(method, path string, form url.Values, into any) {
	w.Helper()
	req, err := http.NewRequestWithContext(w.Context(), method, w.url+path, strings.NewReader(form.Encode()))
	if err != nil {
		w.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+w.token)
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		w.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		w.Fatalf("%s %s: %s: %.200s, %v", method, path, resp.Status, b, err)
	}
	if err := json.Unmarshal(b, into); err != nil {
		w.Fatalf("%s %s: %v", method, path, err)
	}
}

func (w wire) run() {
	client := &http.Client{Transport: &http.Transport{}}
	w.Cleanup(client.CloseIdleConnections)
	f, err := mastodon.New(mastodon.Config{BaseURL: w.url, Token: secret.Value(w.token), HTTP: client})
	if err != nil {
		w.Fatal(err)
	}
	var self struct{ ID, Acct string }
	w.ask("GET", "/api/v1/accounts/verify_credentials", nil, &self)
	account := fetcher.Account{Username: self.Acct, UserID: self.ID}
	signals := w.stream(client, account)
	w.await(signals, "the stream is up", func(g fetcher.Signal) bool { return g.Kind == fetcher.SignalUp })
	first, err := f.Timeline(w.Context(), fetcher.TimelineQuery{Username: self.Acct, Seen: unseen})
	if err != nil || first.UserID != self.ID {
		w.Fatalf("the timeline of %s is of %q, %v, want %q", self.Acct, first.UserID, err, self.ID)
	}
	before := w.mark(f, account)

	var made struct{ ID string }
	words := fmt.Sprintf("Testing the wire: %d", time.Now().UnixNano())
	w.ask("POST", "/api/v1/statuses", url.Values{"status": {words}}, &made)
	pushed := w.await(signals, "the stream brings the post", func(g fetcher.Signal) bool {
		return g.Kind == fetcher.SignalPost && g.Post.ID == made.ID
	})
	if p := pushed.Post; p.Text != words || p.UserID != self.ID || p.PublishedAt.IsZero() {
		w.Errorf("the stream brought %+v, want the text %q", p, words)
	}
	var page fetcher.Page
	w.eventually("the timeline begins with the post", func() bool {
		page = w.read(f, account, first.Version)
		return !page.Unchanged && len(page.Tweets) > 0 && page.Tweets[0].ID == made.ID
	})
	if p := page.Tweets[0]; p.Text != words || !p.PublishedAt.Equal(pushed.Post.PublishedAt) {
		w.Errorf("the timeline has %+v, the stream brought %+v", p, pushed.Post)
	}
	// Between two reads of a real server its counts may change, once.
	w.eventually("the timeline is unchanged", func() bool {
		again := w.read(f, account, page.Version)
		defer func() { page = again }()
		return again.Unchanged && again.Version == page.Version
	})
	w.eventually("the mark shows the post", func() bool { return w.mark(f, account) == before+1 })

	w.ask("PUT", "/api/v1/statuses/"+made.ID, url.Values{"status": {words + " again"}}, &made)
	edit := w.await(signals, "the stream brings the edit", func(g fetcher.Signal) bool { return g.Kind == fetcher.SignalEdit })
	if edit.Post.ID != made.ID || edit.Post.Text != words+" again" {
		w.Errorf("the stream brought the edit %+v", edit.Post)
	}
	w.ask("DELETE", "/api/v1/statuses/"+made.ID, nil, &made)
	w.await(signals, "the stream brings the deletion", func(g fetcher.Signal) bool {
		return g.Kind == fetcher.SignalDelete && g.ID == made.ID
	})
	w.eventually("the mark shows the deletion", func() bool { return w.mark(f, account) == before })

	if _, err := f.Timeline(w.Context(), fetcher.TimelineQuery{Username: "nobody_" + made.ID}); !errors.Is(err, fetcher.ErrNotFound) {
		w.Errorf("an account of nobody: %v, want %v", err, fetcher.ErrNotFound)
	}
	s, err := mastodon.NewStream(mastodon.StreamConfig{BaseURL: w.url, Token: "wrong", HTTP: client})
	if err != nil {
		w.Fatal(err)
	}
	if err := s.Stream(w.Context(), fetcher.StreamQuery{}, nil); !errors.Is(err, fetcher.ErrUnauthorized) {
		w.Errorf("a stream with a wrong token: %v, want %v", err, fetcher.ErrUnauthorized)
	}
}

func unseen(string) bool { return false }

func (w wire) read(f *mastodon.Fetcher, a fetcher.Account, known uint64) fetcher.Page {
	w.Helper()
	page, err := f.Timeline(w.Context(), fetcher.TimelineQuery{Username: a.Username, Seen: unseen, Known: known})
	if err != nil {
		w.Fatal(err)
	}
	return page
}

func (w wire) mark(f *mastodon.Fetcher, a fetcher.Account) fetcher.Mark {
	w.Helper()
	p, err := f.Probe(w.Context(), []fetcher.Account{a})
	if err != nil {
		w.Fatal(err)
	}
	if len(p.Marks) != 1 || p.Marks[0] == fetcher.NoMark {
		w.Fatalf("marks %v of an account that has one", p.Marks)
	}
	return p.Marks[0]
}

// stream reads the user's stream until the test ends.
func (w wire) stream(client *http.Client, a fetcher.Account) <-chan fetcher.Signal {
	w.Helper()
	s, err := mastodon.NewStream(mastodon.StreamConfig{BaseURL: w.url, Token: secret.Value(w.token), HTTP: client})
	if err != nil {
		w.Fatal(err)
	}
	signals, ended := make(chan fetcher.Signal, 100), make(chan error, 1)
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		defer close(signals)
		ended <- s.Stream(ctx, fetcher.StreamQuery{Accounts: []fetcher.Account{a}}, func(g fetcher.Signal) error {
			select {
			case signals <- g:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		})
	}()
	w.Cleanup(func() {
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			w.Errorf("the stream ended with %v", err)
		}
	})
	return signals
}

// wireLimit is how long a test waits for the server.
const wireLimit = time.Minute

// await returns the first signal that meant accepts, and drops those before it.
func (w wire) await(signals <-chan fetcher.Signal, what string, meant func(fetcher.Signal) bool) fetcher.Signal {
	w.Helper()
	late := time.NewTimer(wireLimit)
	defer late.Stop()
	for {
		select {
		case g, ok := <-signals:
			if !ok {
				w.Fatalf("the stream ended; awaited: %s", what)
			}
			if meant(g) {
				return g
			}
		case <-late.C:
			w.Fatalf("waited %s in vain: %s", wireLimit, what)
		}
	}
}

// eventually asks once a second: a real server may answer from a cache at first.
func (w wire) eventually(what string, holds func() bool) {
	w.Helper()
	ends := time.Now().Add(wireLimit)
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for !holds() {
		if time.Now().After(ends) {
			w.Fatalf("waited %s in vain: %s", wireLimit, what)
		}
		<-tick.C
	}
}
