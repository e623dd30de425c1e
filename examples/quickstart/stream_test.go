package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/streamwatch/streamwatch/internal/heard"
)

// The demonstration loses nothing with a stream, with probes and with both, and says
// what they brought.
func TestDemonstration(t *testing.T) {
	t.Parallel()
	var all sync.WaitGroup
	for name, c := range map[string]struct {
		interval    time.Duration // long where polls must not be first to find what is posted
		push, probe bool
		says, not   string
	}{
		"push":  {interval: 8 * time.Second, push: true, says: "stream: brought ", not: "probes: "},
		"probe": {interval: 8 * time.Second, probe: true, says: "probes: ", not: "stream: "},
		"polls": {interval: 500 * time.Millisecond},
	} {
		all.Go(func() { // each takes seconds, in which it does little
			o := options{posts: 20, accounts: 3, interval: c.interval, lasts: time.Second, demoRoles: demoRoles{push: c.push, probe: c.probe}}
			sum, err := demonstrate(t.Context(), o, io.Discard)
			if err != nil {
				t.Errorf("%s: %v", name, err)
				return
			}
			if sum.Posted != 20 || sum.Detected != 20 || sum.Verified != 20 || sum.Lost != 0 || sum.Duplicated != 0 {
				t.Errorf("%s: summary %+v, want 20 posts, each once", name, sum)
			}
			notes := strings.Join(sum.notes, "\n")
			if !strings.Contains(notes, c.says) || c.not != "" && strings.Contains(notes, c.not) {
				t.Errorf("%s: notes %q, want one of %q and none of %q", name, notes, c.says, c.not)
			}
			for _, nothing := range []string{"brought 0 posts", "probes: 0 calls", "showed 0 changes"} {
				if strings.Contains(notes, nothing) {
					t.Errorf("%s: notes %q: the engine took no notice", name, notes)
				}
			}
		})
	}
	all.Wait()
}

// A post that only a Jetstream shows is detected.
func TestStreamOfRealAccounts(t *testing.T) {
	t.Parallel()
	const did = "did:plc:z72i7hdynmk6r22z27h6tvur"
	appView := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		switch r.URL.Path {
		case "/xrpc/com.atproto.identity.resolveHandle":
			fmt.Fprintf(w, `{"did":%q}`, did)
		case "/xrpc/app.bsky.feed.getAuthorFeed":
			fmt.Fprint(w, `{"feed":[]}`)
		default:
			http.NotFound(w, r)
		}
	}))
	defer appView.Close()
	jetstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c, err := websocket.Accept(w, r, nil)
		if err != nil {
			return
		}
		defer c.CloseNow()
		if _, wanted, err := c.Read(r.Context()); err != nil || !strings.Contains(string(wanted), did) {
			t.Errorf("the stream is asked for %s, %v, want %s", wanted, err, did)
		}
		now := time.Now()
		c.Write(r.Context(), websocket.MessageText, fmt.Appendf(nil,
			`{"did":%q,"time_us":%d,"kind":"commit","commit":{"rev":"3l","operation":"create","collection":"app.bsky.feed.post","rkey":%q,"cid":"bafy","record":{"text":"pushed","createdAt":%q}}}`,
			did, now.UnixMicro(), recordKey(now), now.UTC().Format(time.RFC3339Nano)))
		c.Read(r.Context()) // until the client goes
	}))
	defer jetstream.Close()

	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var out heard.Output
	out.On(`"pushed"`, cancel)
	sum, err := watch(ctx, options{
		bluesky: list{"alice.example.com"}, blueskyHost: appView.URL, interval: time.Second, runFor: time.Minute,
		stream: "ws" + strings.TrimPrefix(jetstream.URL, "http") + "/subscribe",
	}, &out)
	if err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	if notes := strings.Join(sum.notes, "\n"); sum.Detected != 1 || !strings.Contains(notes, "stream: brought 1 posts") {
		t.Errorf("detected %d, notes %q:\n%s", sum.Detected, notes, out.String())
	}
}

// recordKey writes a time as the key of a record.
func recordKey(at time.Time) string {
	const digits = "234567abcdefghijklmnopqrstuvwxyz"
	n := uint64(at.UnixMicro()) << 10
	var key [13]byte
	for i := range key {
		key[len(key)-1-i] = digits[n>>(5*i)&31]
	}
	return string(key[:])
}
