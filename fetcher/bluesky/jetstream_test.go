package bluesky

import (
	"context"
	"encoding/json"
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

// jetstreamServer accepts subscriptions, and sends what a test pushes. Its log has
// numbers from 1 on, from which a subscription may resume.
type jetstreamServer struct {
	*sockettest.Server
	*sockettest.Feed
}

func newJetstreamServer(t testing.TB) *jetstreamServer {
	s := &jetstreamServer{Feed: sockettest.NewFeed(websocket.MessageText)}
	s.Server = sockettest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		place := s.Len()
		if n, err := strconv.Atoi(r.URL.Query().Get("cursor")); err == nil && n > 0 {
			place = min(place, n-1) // one that lies ahead, as those by time do, is the present
		}
		s.Serve(w, r, place)
	}))
	t.Cleanup(s.Close)
	return s
}

// streaming is a Stream call under way.
type streaming struct {
	t       *testing.T
	changes chan []fetcher.Account
	signals chan fetcher.Signal
	ended   chan error
	cancel  context.CancelFunc
}

func startStream(t *testing.T, server *jetstreamServer, q fetcher.StreamQuery) *streaming {
	j, err := NewJetstream(JetstreamConfig{URL: "ws://jetstream.example.com/subscribe", HTTP: server.Client()})
	if err != nil {
		t.Fatal(err)
	}
	return startStreamer(t, j, q)
}

func startStreamer(t *testing.T, from fetcher.Streamer, q fetcher.StreamQuery) *streaming {
	s := &streaming{t: t, changes: make(chan []fetcher.Account), signals: make(chan fetcher.Signal, 99), ended: make(chan error, 1)}
	q.Changes = s.changes
	ctx, cancel := context.WithCancel(t.Context())
	s.cancel = cancel
	go func() {
		s.ended <- from.Stream(ctx, q, func(g fetcher.Signal) error { s.signals <- g; return nil })
	}()
	return s
}

// next returns the next signal, leaving out heartbeats without a position. Those that came
// before the stream ended go before its end.
func (s *streaming) next() fetcher.Signal {
	s.t.Helper()
	late := time.NewTimer(10 * time.Minute) // of the bubble
	defer late.Stop()
	for {
		select {
		case g := <-s.signals:
			if g.Kind != fetcher.SignalHeartbeat || !g.At.IsZero() {
				return g
			}
		case err := <-s.ended:
			if len(s.signals) == 0 {
				s.t.Fatalf("the stream ended: %v", err)
			}
			s.ended <- err
		case <-late.C:
			s.cancel()
			<-s.ended
			s.t.Fatal("waited in vain for a signal")
		}
	}
}

// stop ends the call, and waits until the server has noticed, which would otherwise
// still take a frame.
func (s *streaming) stop() {
	s.cancel()
	if err := <-s.ended; !errors.Is(err, context.Canceled) {
		s.t.Errorf("ended with %v", err)
	}
	synctest.Wait()
}

// eventTime is when the events of these tests were made.
var eventTime = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func commit(did, operation, collection, key, record string, at time.Time, seq int) string {
	b := fmt.Sprintf(`{"did":%q,"time_us":%d,"kind":"commit","commit":{"rev":"3l","operation":%q,"collection":%q,"rkey":%q,"cid":"bafy"`,
		did, at.UnixMicro(), operation, collection, key)
	if record != "" {
		b += `,"record":` + record
	}
	b += "}"
	if seq > 0 {
		b += fmt.Sprintf(`,"cursor":%d`, seq)
	}
	return b + "}"
}

var twoAccounts = []fetcher.Account{{Username: "alice.example.com", UserID: alice}, {Username: "carol.example.com"}, {Username: bob}}

func TestJetstreamSignals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newJetstreamServer(t)
		s := startStream(t, server, fetcher.StreamQuery{Accounts: twoAccounts})
		q := (<-server.Opened).URL.Query()
		if !slices.Equal(q["wantedCollections"], collections[:]) || q.Get("requireHello") != "true" || q.Has("cursor") || q.Has("wantedDids") {
			t.Errorf("query %v", q)
		}
		var sent struct {
			Type    string
			Payload struct{ WantedDIDs, WantedCollections []string }
		}
		if err := json.Unmarshal([]byte(<-server.Received), &sent); err != nil || sent.Type != "options_update" ||
			!slices.Equal(sent.Payload.WantedDIDs, []string{alice, bob}) || !slices.Equal(sent.Payload.WantedCollections, collections[:]) {
			t.Errorf("options %+v, %v", sent, err)
		}
		if up := s.next(); up.Kind != fetcher.SignalUp || up.Resumed || len(up.Accounts) != 2 || up.Accounts[1].Username != bob {
			t.Errorf("first signal %+v", up)
		}
		key := tidAt(eventTime)
		text := `{"$type":"app.bsky.feed.post","text":"hi","createdAt":"2026-03-01T12:00:00Z","reply":{"root":{"uri":"at://did:plc:r/app.bsky.feed.post/1"},"parent":{"uri":"at://did:plc:p/app.bsky.feed.post/2"}}}`
		for _, c := range []struct {
			name, frame string
			want        fetcher.SignalKind
			check       func(g fetcher.Signal) bool
		}{
			{"a post", commit(alice, "create", postCollection, key, text, eventTime, 0), fetcher.SignalPost, func(g fetcher.Signal) bool {
				return g.Post.ID == "at://"+alice+"/"+postCollection+"/"+key && g.Post.Text == "hi" && g.Post.Username == "alice.example.com" &&
					g.Post.UserID == alice && g.Post.InReplyToUserID == "did:plc:p" && g.Post.PublishedAt.Equal(eventTime) && g.At.Equal(eventTime) &&
					g.Position == fmt.Sprintf(`{"host":"jetstream.example.com","time_us":%d}`, eventTime.UnixMicro())
			}},
			{"a repost", commit(bob, "create", repostCollection, key, `{"subject":{"uri":"at://did:plc:o/app.bsky.feed.post/9"}}`, eventTime, 77), fetcher.SignalPost, func(g fetcher.Signal) bool {
				return g.Post.IsRetweet && g.Post.ID == "at://"+bob+"/"+repostCollection+"/"+key && g.Post.RetweetedStatusID == "at://did:plc:o/app.bsky.feed.post/9" &&
					g.Position == fmt.Sprintf(`{"host":"jetstream.example.com","time_us":%d,"seq":77}`, eventTime.UnixMicro())
			}},
			{"an edit", commit(alice, "update", postCollection, key, text, eventTime, 0), fetcher.SignalEdit, func(g fetcher.Signal) bool { return g.Post.Text == "hi" }},
			{"a deletion", commit(alice, "delete", postCollection, key, "", eventTime, 0), fetcher.SignalDelete, func(g fetcher.Signal) bool {
				return g.ID == "at://"+alice+"/"+postCollection+"/"+key && g.Post == nil
			}},
			{"another's post", commit("did:plc:stranger", "create", postCollection, key, text, eventTime, 0), fetcher.SignalHeartbeat, nil},
			{"another collection", commit(alice, "create", "app.bsky.feed.like", key, `{}`, eventTime, 0), fetcher.SignalHeartbeat, nil},
			{"an unknown operation", commit(alice, "merge", postCollection, key, text, eventTime, 0), fetcher.SignalHeartbeat, nil},
			{"an identity", fmt.Sprintf(`{"did":%q,"time_us":%d,"kind":"identity","identity":{"did":%[1]q,"seq":1}}`, alice, eventTime.UnixMicro()), fetcher.SignalHeartbeat, nil},
			{"no JSON", `<html>`, fetcher.SignalGap, func(g fetcher.Signal) bool { return g.Position == "" }},
			{"no time", `{"did":"` + alice + `","kind":"commit"}`, fetcher.SignalGap, func(g fetcher.Signal) bool { return g.Position == "" }},
			{"a broken record", commit(alice, "create", postCollection, key, `"x`, eventTime, 0), fetcher.SignalGap, nil},
			{"a key with a slash", commit(alice, "create", postCollection, "a/b", text, eventTime, 0), fetcher.SignalGap, nil},
			{"a record of another type", commit(alice, "create", postCollection, key, `[]`, eventTime, 0), fetcher.SignalPost, func(g fetcher.Signal) bool { return g.Post.ID != "" }},
		} {
			server.Push(c.frame)
			if g := s.next(); g.Kind != c.want || c.check != nil && !c.check(g) {
				t.Errorf("%s: %+v, want kind %d", c.name, g, c.want)
			}
		}
		s.stop()
	})
}

// Accounts change without a reconnect. Without any the subscription ends, since to
// the server no account means all of them.
func TestJetstreamFollowsAccounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newJetstreamServer(t)
		s := startStream(t, server, fetcher.StreamQuery{Accounts: []fetcher.Account{{Username: "alice.example.com"}}})
		synctest.Wait()
		if len(server.Opened) != 0 {
			t.Fatal("connected without an account that it can name")
		}
		s.changes <- []fetcher.Account{{Username: "alice.example.com", UserID: alice}}
		<-server.Opened
		<-server.Received
		if up := s.next(); len(up.Accounts) != 1 {
			t.Errorf("up with %v", up.Accounts)
		}
		s.changes <- twoAccounts
		if o := <-server.Received; !strings.Contains(o, bob) {
			t.Errorf("options %s", o)
		}
		if g := s.next(); g.Kind != fetcher.SignalAccounts || len(g.Accounts) != 2 {
			t.Errorf("signal %+v, want the accounts", g)
		}
		s.changes <- nil
		if err := <-s.ended; !errors.Is(err, fetcher.ErrResubscribe) || len(server.Opened) != 0 || len(server.Received) != 0 {
			t.Errorf("without accounts: %v", err)
		}
		s.cancel()
	})
}

func TestJetstreamResumes(t *testing.T) {
	position := func(host string, seq int, age time.Duration) string {
		return streamPosition{Host: host, TimeUS: time.Now().Add(-age).UnixMicro(), Seq: int64(seq)}.text()
	}
	byTime := func(age time.Duration) string { return fmt.Sprint(time.Now().Add(-age - rewind).UnixMicro()) }
	synctest.Test(t, func(t *testing.T) {
		server := newJetstreamServer(t)
		for _, c := range []struct {
			name, position, cursor string
			resumed                bool
		}{
			{"by the host's number", position("jetstream.example.com", 12345, time.Hour), "12345", true},
			{"which may be too old", position("jetstream.example.com", 12345, 40*time.Hour), "12345", false},
			{"on another host by time", position("other.example.com", 12345, time.Hour), byTime(time.Hour), false},
			{"by time", position("jetstream.example.com", 0, time.Hour), byTime(time.Hour), false},
			{"from nowhere", "", "", false},
			{"from what is no position", "yesterday", "", false},
		} {
			s := startStream(t, server, fetcher.StreamQuery{Accounts: twoAccounts, Position: c.position})
			if q := (<-server.Opened).URL.Query(); q.Get("cursor") != c.cursor {
				t.Errorf("%s: cursor %q, want %q", c.name, q.Get("cursor"), c.cursor)
			}
			<-server.Received
			if up := s.next(); up.Resumed != c.resumed {
				t.Errorf("%s: resumed %t, want %t", c.name, up.Resumed, c.resumed)
			}
			s.stop()
		}
	})
}

// What a replay brings from before the position is left out. What is no replay is taken, and
// a gap or an Up without Resumed says that something may be missing.
func TestJetstreamReplays(t *testing.T) {
	const here, elsewhere = "jetstream.example.com", "other.example.com"
	type sent struct {
		seq int
		at  time.Duration // from now
	}
	for _, c := range []struct {
		name    string
		from    streamPosition // TimeUS is from now
		waits   time.Duration  // before the events are sent
		events  []sent
		resumed bool
		want    string // a letter for each signal: g a gap, else the event's place
	}{
		{"by number", streamPosition{here, -60e6, 50}, 0, []sent{{50, -time.Minute}, {51, 0}}, true, "01"},
		{"by number, of a clock that is ahead", streamPosition{here, 60e6, 50}, 0, []sent{{50, time.Minute}, {51, 0}}, true, "01"},
		{"by number, of a clock that is far ahead", streamPosition{here, 3600e6, 50}, 0, []sent{{51, 0}, {52, 0}}, false, "01"},
		{"numbers that began anew", streamPosition{here, -60e6, 5000}, 0, []sent{{3, 0}, {4, 0}}, true, "g01"},
		{"numbers that began anew at once", streamPosition{here, 0, 5000}, 0, []sent{{3, 0}, {4, 0}}, true, "g01"},
		{"numbers that began anew and passed the position", streamPosition{here, -60e6, 50}, 0, []sent{{50, 0}, {51, 0}}, true, "g01"},
		{"numbers that are gone", streamPosition{here, -60e6, 50}, 0, []sent{{0, 0}, {0, 0}}, true, "g01"},
		{"by time", streamPosition{elsewhere, 0, 50}, 0, []sent{{70, -time.Minute}, {7, -rewind}, {8, -time.Minute}}, false, "12"},
		{"by time, of a clock that is minutes ahead", streamPosition{elsewhere, 120e6, 0}, 0, []sent{{0, 0}, {0, time.Second}}, false, "01"},
		{"by time, of a clock that is hours ahead", streamPosition{elsewhere, 7200e6, 50}, 0, []sent{{1, 0}, {2, 0}}, false, "01"},
		{"a clock that is hours behind", streamPosition{elsewhere, 0, 50}, 0, []sent{{1, -time.Hour}, {2, -time.Hour}}, false, "g01"},
		{"a clock that is minutes behind", streamPosition{elsewhere, 0, 50}, 6 * time.Minute, []sent{{1, -time.Minute}, {2, -time.Minute}}, false, "g01"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server := newJetstreamServer(t)
				now := time.Now()
				c.from.TimeUS += now.UnixMicro()
				s := startStream(t, server, fetcher.StreamQuery{Accounts: twoAccounts, Position: c.from.text()})
				<-server.Received
				if up := s.next(); up.Resumed != c.resumed {
					t.Errorf("resumed %t, want %t", up.Resumed, c.resumed)
				}
				<-time.After(c.waits)
				for i, e := range c.events {
					server.Push(commit(alice, "delete", postCollection, fmt.Sprint(i), "", now.Add(e.at), e.seq))
				}
				got, last := "", fetcher.Signal{}
				for range c.want {
					switch last = s.next(); last.Kind {
					case fetcher.SignalGap:
						got += "g"
					default:
						got += last.ID[len(last.ID)-1:]
					}
				}
				newest := c.events[len(c.events)-1]
				if want := (streamPosition{here, now.Add(newest.at).UnixMicro(), int64(newest.seq)}).text(); got != c.want || last.Position != want {
					t.Errorf("signals %q to %s, want %q to %s", got, last.Position, c.want, want)
				}
				s.stop()
			})
		})
	}
}

func TestJetstreamBreaks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newJetstreamServer(t)
		for name, do := range map[string]func(){"cut": server.Cut, "frozen": server.Freeze} {
			s := startStream(t, server, fetcher.StreamQuery{Accounts: twoAccounts})
			<-server.Opened
			<-server.Received
			s.next()
			do()
			if err := <-s.ended; err == nil || !strings.Contains(err.Error(), "jetstream.example.com") {
				t.Errorf("%s: ended with %v", name, err)
			}
			s.cancel()
		}
	})
}

func TestJetstreamConfig(t *testing.T) {
	for _, u := range []string{"https://jetstream.example.com", "ws://", "wss://h/subscribe?wantedDids=x", "::"} {
		if _, err := NewJetstream(JetstreamConfig{URL: u}); err == nil || !strings.Contains(err.Error(), "JetstreamConfig.URL") {
			t.Errorf("%q: %v", u, err)
		}
	}
	if _, err := NewJetstream(JetstreamConfig{HTTP: &http.Client{Timeout: time.Second}}); err == nil {
		t.Error("a client with a Timeout was accepted")
	}
	if _, err := NewJetstream(JetstreamConfig{}); err != nil {
		t.Error(err)
	}
}

func FuzzJetstreamMessage(f *testing.F) {
	f.Add(commit(alice, "create", postCollection, tidAt(eventTime), `{"text":"x"}`, eventTime, 3))
	f.Add(`{"did":"did:plc:a","time_us":1,"kind":"identity"}`)
	f.Fuzz(func(t *testing.T, frame string) {
		s := &subscription{cfg: &JetstreamConfig{}, host: "h", emit: func(g fetcher.Signal) error {
			if g.Kind == fetcher.SignalPost {
				checkSound(t, *g.Post)
			}
			return nil
		}}
		s.want(twoAccounts)
		if err := s.message([]byte(frame)); err != nil {
			t.Error(err)
		}
	})
}
