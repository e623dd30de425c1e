package bluesky

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coder/websocket"

	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/fetcher/internal/sockettest"
)

const pathV2 = "/xrpc/network.bsky.jetstream.subscribeEvents"

// newServerV2 starts a server that speaks version 2 alone. Its events have numbers from 1 on.
// Those below the result of floor are gone.
func newServerV2(t testing.TB, floor func() int) *jetstreamServer {
	s := &jetstreamServer{Feed: sockettest.NewFeed(websocket.MessageText)}
	s.Server = sockettest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		refuse := func(status int, name string) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(status)
			fmt.Fprintf(w, `{"error":%q,"message":"no"}`, name)
		}
		q := r.URL.Query()
		place := s.Len()
		n, err := strconv.ParseInt(q.Get("cursor"), 10, 64)
		switch {
		case r.URL.Path != pathV2:
			http.NotFound(w, r)
			return
		case q.Has("wantedCollections") || q.Has("requireHello") || len(r.URL.RawQuery) > 8<<10:
			refuse(http.StatusBadRequest, "InvalidRequest")
			return
		case err == nil && n < 1e15 && n < int64(floor()):
			refuse(http.StatusBadRequest, "CursorTooOld")
			return
		case err == nil:
			place = int(min(int64(place), n-1))
		}
		s.Serve(w, r, place)
	}))
	t.Cleanup(s.Close)
	return s
}

func eventV2(kind, did string, seq int, at time.Time, members string) string {
	return fmt.Sprintf(`{"$type":"message","payload":{"$type":"network.bsky.jetstream.subscribeEvents#%s","seq":%d,"did":%q,"time":%q%s}}`,
		kind, seq, did, at.UTC().Format("2006-01-02T15:04:05.000000Z"), members)
}

func commitV2(did, operation, key, record string, at time.Time, seq int) string {
	members := fmt.Sprintf(`,"rev":"3l","operation":%q,"collection":%q,"rkey":%q`, operation, postCollection, key)
	if record != "" {
		members += `,"cid":"bafy","record":` + record
	}
	return eventV2("commit", did, seq, at, members)
}

func start(t *testing.T, server *jetstreamServer, path string, q fetcher.StreamQuery) *streaming {
	j, err := NewJetstream(JetstreamConfig{URL: "ws://jetstream.example.com" + path, HTTP: server.Client()})
	if err != nil {
		t.Fatal(err)
	}
	return startStreamer(t, j, q)
}

func none() int { return 0 }

// Which version a server speaks is found out at connect.
func TestJetstreamVersions(t *testing.T) {
	for path, want := range map[string]string{"/subscribe": pathV2, "": pathV2, "/js/subscribe": "/js" + pathV2, pathV2: pathV2} {
		synctest.Test(t, func(t *testing.T) {
			server := newServerV2(t, none)
			s := start(t, server, path, fetcher.StreamQuery{Accounts: twoAccounts})
			if strings.HasPrefix(want, "/js") {
				if err := <-s.ended; !errors.Is(err, fetcher.ErrNotFound) || !strings.Contains(err.Error(), "by version 2") {
					t.Errorf("%q ended with %v, want both refusals", path, err)
				}
				return
			}
			r := <-server.Opened
			if up := s.next(); up.Kind != fetcher.SignalUp || up.Resumed || len(up.Accounts) != 2 {
				t.Errorf("%q: first signal %+v", path, up)
			}
			if q := r.URL.Query(); r.URL.Path != want || !slices.Equal(q["dids"], []string{alice, bob}) || !slices.Equal(q["collections"], collections[:]) ||
				!slices.Equal(q["kinds"], []string{"commit", "sync"}) || q.Has("cursor") {
				t.Errorf("%q: asked for %s", path, r.URL)
			}
			s.stop()
			if len(server.Received) != 0 {
				t.Errorf("%q: sent %s, which version 2 answers by closing", path, <-server.Received)
			}
		})
	}
}

func TestJetstreamV2Signals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServerV2(t, none)
		s := start(t, server, pathV2, fetcher.StreamQuery{Accounts: twoAccounts})
		s.next()
		key := tidAt(eventTime)
		text := `{"$type":"app.bsky.feed.post","text":"hi","createdAt":"2026-03-01T12:00:00Z"}`
		position := func(seq int, at time.Time) string {
			return streamPosition{Host: "jetstream.example.com", TimeUS: at.UnixMicro(), Seq: int64(seq)}.text()
		}
		for _, c := range []struct {
			name, frame string
			want        fetcher.SignalKind
			check       func(g fetcher.Signal) bool
		}{
			{"a post", commitV2(alice, "create", key, text, eventTime, 7), fetcher.SignalPost, func(g fetcher.Signal) bool {
				return g.Post.ID == "at://"+alice+"/"+postCollection+"/"+key && g.Post.Text == "hi" && g.Post.UserID == alice && g.At.Equal(eventTime) && g.Position == position(7, eventTime)
			}},
			{"a time that was imported", eventV2("identity", alice, 8, eventTime.Add(-time.Hour), `,"witnessedAt":"2026-03-01T12:00:00.000001Z"`), fetcher.SignalHeartbeat, func(g fetcher.Signal) bool {
				return g.Position == position(8, eventTime.Add(time.Microsecond))
			}},
			{"an edit", commitV2(alice, "update", key, text, eventTime, 9), fetcher.SignalEdit, nil},
			{"a deletion", commitV2(alice, "delete", key, "", eventTime, 10), fetcher.SignalDelete, func(g fetcher.Signal) bool { return strings.HasSuffix(g.ID, key) }},
			{"another's post", commitV2("did:plc:stranger", "create", key, text, eventTime, 11), fetcher.SignalHeartbeat, nil},
			{"a new state of an account", eventV2("sync", alice, 12, eventTime, `,"sync":{}`), fetcher.SignalGap, func(g fetcher.Signal) bool {
				return len(g.Accounts) == 1 && g.Accounts[0].UserID == alice
			}},
			{"a new state of another", eventV2("sync", "did:plc:stranger", 13, eventTime, ``), fetcher.SignalHeartbeat, nil},
			{"an unknown kind", eventV2("tea", alice, 14, eventTime, ``), fetcher.SignalHeartbeat, nil},
			{"a time that is gone", `{"$type":"message","payload":{"$type":"x#info","name":"OutdatedCursor"}}`, fetcher.SignalGap, nil},
			{"a payload of another type", `{"$type":"message","payload":7}`, fetcher.SignalGap, func(g fetcher.Signal) bool { return g.Position == "" }},
			{"no payload", `{"$type":"message"}`, fetcher.SignalGap, nil},
			{"an unknown frame", `{"$type":"tea"}`, fetcher.SignalGap, nil},
		} {
			server.Push(c.frame)
			if g := s.next(); g.Kind != c.want || c.check != nil && !c.check(g) {
				t.Errorf("%s: %+v, want kind %d", c.name, g, c.want)
			}
		}
		server.Push(`{"$type":"error","error":"ConsumerTooSlow","message":"reconnect"}`)
		if err := <-s.ended; err == nil || !strings.Contains(err.Error(), "ConsumerTooSlow") {
			t.Errorf("ended with %v", err)
		}
		s.cancel()
	})
}

func TestJetstreamV2Resumes(t *testing.T) {
	position := func(host string, seq int, age time.Duration) string {
		return streamPosition{Host: host, TimeUS: time.Now().Add(-age).UnixMicro(), Seq: int64(seq)}.text()
	}
	synctest.Test(t, func(t *testing.T) {
		server := newServerV2(t, func() int { return 100 })
		for _, c := range []struct {
			name, position, cursor string
			resumed                bool
		}{
			{"by number, which the server has", position("jetstream.example.com", 100, 40*time.Hour), "100", true},
			{"by a number that is too old", position("jetstream.example.com", 99, time.Hour), "", false},
			{"on another host by time", position("other.example.com", 99, time.Hour), fmt.Sprint(time.Now().Add(-time.Hour - rewind).UnixMicro()), false},
			{"from the present", "", "", false},
		} {
			s := start(t, server, "/subscribe", fetcher.StreamQuery{Accounts: twoAccounts, Position: c.position})
			r := <-server.Opened
			if up := s.next(); up.Resumed != c.resumed || r.URL.Query().Get("cursor") != c.cursor {
				t.Errorf("%s: resumed %t from %q, want %t from %q", c.name, up.Resumed, r.URL.Query().Get("cursor"), c.resumed, c.cursor)
			}
			s.stop()
		}
		// A server that was set up anew says so, and its next numbers are the position.
		s := start(t, server, pathV2, fetcher.StreamQuery{Accounts: twoAccounts, Position: position("jetstream.example.com", 5000, time.Hour)})
		s.next()
		server.Push(`{"$type":"message","payload":{"$type":"network.bsky.jetstream.subscribeEvents#info","name":"FutureCursor"}}`)
		if g := s.next(); g.Kind != fetcher.SignalGap || g.Position != (streamPosition{Host: "jetstream.example.com", TimeUS: time.Now().UnixMicro()}).text() {
			t.Errorf("%+v, want a gap at the present", g)
		}
		server.Push(commitV2(alice, "delete", "x", "", time.Now(), 3))
		if g := s.next(); g.Kind != fetcher.SignalDelete || !strings.Contains(g.Position, `"seq":3}`) {
			t.Errorf("%+v, want the deletion, without another gap", g)
		}
		s.stop()
	})
}

// More accounts than a URL can have are picked from everybody's posts, without a reconnect.
func TestJetstreamV2OfManyAccounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServerV2(t, none)
		var many []fetcher.Account
		for i := range 500 {
			many = append(many, fetcher.Account{UserID: fmt.Sprintf("did:plc:%024d", i)})
		}
		s := start(t, server, pathV2, fetcher.StreamQuery{Accounts: many})
		if u := (<-server.Opened).URL; u.Query().Has("dids") {
			t.Errorf("asked for %d accounts in a URL of %d bytes", len(u.Query()["dids"]), len(u.RawQuery))
		}
		s.next()
		s.changes <- append(many, twoAccounts[0])
		synctest.Wait()
		server.Push(commitV2(alice, "delete", "x", "", time.Now(), 3))
		if g := s.next(); g.Kind != fetcher.SignalAccounts || len(g.Accounts) != 501 {
			t.Errorf("%+v, want the accounts", g)
		}
		if g := s.next(); g.Kind != fetcher.SignalDelete {
			t.Errorf("%+v, want the deletion", g)
		}
		s.stop()
	})
}
