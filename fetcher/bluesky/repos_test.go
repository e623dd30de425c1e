package bluesky

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coder/websocket"
	"github.com/fxamacker/cbor/v2"

	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/fetcher/internal/sockettest"
)

// reposServer accepts subscriptions, and sends what a test pushes. Its log has numbers
// from 1 on, after which a subscription may resume.
type reposServer struct {
	*sockettest.Server
	*sockettest.Feed
}

func newReposServer(t testing.TB) *reposServer {
	s := &reposServer{Feed: sockettest.NewFeed(websocket.MessageBinary)}
	s.Server = sockettest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		place := s.Len()
		if n, err := strconv.Atoi(r.URL.Query().Get("cursor")); err == nil {
			place = min(place, n)
		}
		s.Serve(w, r, place)
	}))
	t.Cleanup(s.Close)
	return s
}

func (s *reposServer) start(t *testing.T, q fetcher.StreamQuery) *streaming {
	p, err := NewRepos(ReposConfig{PDS: "http://pds.example.com/", HTTP: s.Client()})
	if err != nil {
		t.Fatal(err)
	}
	return startStreamer(t, p, q)
}

type object = map[string]any

func encoded(v any) []byte {
	b, err := cbor.Marshal(v)
	if err != nil {
		panic(err)
	}
	return b
}

func frame(kind string, payload object) []byte {
	return append(encoded(object{"op": 1, "t": kind}), encoded(payload)...)
}

// cidFor is a CID of version 1: dag-cbor, sha2-256.
func cidFor(block []byte) []byte {
	sum := sha256.Sum256(block)
	return append([]byte{1, 0x71, 0x12, 32}, sum[:]...)
}

func linkTo(block []byte) cbor.Tag {
	return cbor.Tag{Number: linkTag, Content: append([]byte{0}, cidFor(block)...)}
}

func carOf(blocks ...[]byte) []byte {
	header := encoded(object{"version": 1, "roots": []any{linkTo(nil)}})
	car := append(binary.AppendUvarint(nil, uint64(len(header))), header...)
	for _, b := range blocks {
		section := append(cidFor(b), b...)
		car = append(binary.AppendUvarint(car, uint64(len(section))), section...)
	}
	return car
}

// op is an operation with its record, which is in the commit's blocks.
type op struct {
	action, path string
	record       any
}

// commitOf is the payload of a #commit.
func commitOf(did string, seq int, ops ...op) object {
	var list []any
	var blocks [][]byte
	for _, o := range ops {
		entry := object{"action": o.action, "path": o.path, "cid": nil}
		if o.record != nil {
			block := encoded(o.record)
			blocks = append(blocks, block)
			entry["cid"] = linkTo(block)
		}
		list = append(list, entry)
	}
	return object{"seq": seq, "time": eventTime.Format(time.RFC3339), "repo": did, "ops": list, "blocks": carOf(blocks...), "tooBig": false}
}

func at(seq int) string { return fmt.Sprintf(`{"pds":"pds.example.com","seq":%d}`, seq) }

func TestReposSignals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newReposServer(t)
		s := server.start(t, fetcher.StreamQuery{Accounts: twoAccounts})
		if u := (<-server.Opened).URL; u.Path != "/xrpc/com.atproto.sync.subscribeRepos" || u.RawQuery != "" {
			t.Errorf("asked for %s", u)
		}
		if up := s.next(); up.Kind != fetcher.SignalUp || up.Resumed || len(up.Accounts) != 2 || up.Accounts[1].Username != bob {
			t.Errorf("first signal %+v", up)
		}
		key := tidAt(eventTime)
		picture := cbor.Tag{Number: linkTag, Content: append([]byte{0}, cidFor([]byte("a picture"))...)}
		text := object{"$type": postCollection, "text": "hi", "createdAt": "2026-03-01T12:00:00Z",
			"reply": object{"root": object{"uri": "at://did:plc:r/app.bsky.feed.post/1"}, "parent": object{"uri": "at://did:plc:p/app.bsky.feed.post/2"}},
			"embed": object{"$type": "app.bsky.embed.images", "images": []any{object{"alt": "", "image": object{"$type": "blob", "ref": picture, "mimeType": "image/png", "size": 9}}}}}
		post, repost := postCollection+"/"+key, repostCollection+"/"+key
		missing := commitOf(alice, 20, op{"create", post, text})
		missing["blocks"] = carOf()
		big := commitOf(alice, 21)
		big["tooBig"] = true
		cut := commitOf(alice, 22, op{"create", post, text})
		cut["blocks"] = carOf(encoded(text))[:90]
		for _, c := range []struct {
			name  string
			frame []byte
			want  fetcher.SignalKind
			check func(g fetcher.Signal) bool
		}{
			{"a post", frame("#commit", commitOf(alice, 7, op{"create", post, text})), fetcher.SignalPost, func(g fetcher.Signal) bool {
				return g.Post.ID == "at://"+alice+"/"+post && g.Post.Text == "hi" && g.Post.Username == "alice.example.com" && g.Post.UserID == alice &&
					g.Post.InReplyToUserID == "did:plc:p" && g.Post.PublishedAt.Equal(eventTime) && g.At.Equal(eventTime) && g.Position == at(7) &&
					len(g.Post.Media) == 1 && strings.HasPrefix(g.Post.Media[0].URL, "http://pds.example.com/xrpc/com.atproto.sync.getBlob?did="+url.QueryEscape(alice)+"&cid=bafyrei")
			}},
			{"a repost", frame("#commit", commitOf(bob, 8, op{"create", repost, object{"subject": object{"uri": "at://did:plc:o/app.bsky.feed.post/9"}}})), fetcher.SignalPost, func(g fetcher.Signal) bool {
				return g.Post.IsRetweet && g.Post.ID == "at://"+bob+"/"+repost && g.Post.RetweetedStatusID == "at://did:plc:o/app.bsky.feed.post/9" && g.Position == at(8)
			}},
			{"an edit", frame("#commit", commitOf(alice, 9, op{"update", post, text})), fetcher.SignalEdit, func(g fetcher.Signal) bool { return g.Post.Text == "hi" }},
			{"a deletion", frame("#commit", commitOf(alice, 10, op{"delete", post, nil})), fetcher.SignalDelete, func(g fetcher.Signal) bool { return g.ID == "at://"+alice+"/"+post && g.Post == nil }},
			{"another's post", frame("#commit", commitOf("did:plc:stranger", 11, op{"create", post, text})), fetcher.SignalHeartbeat, func(g fetcher.Signal) bool { return g.Position == at(11) }},
			{"another collection", frame("#commit", commitOf(alice, 12, op{"create", "app.bsky.feed.like/" + key, object{}})), fetcher.SignalHeartbeat, nil},
			{"an unknown operation", frame("#commit", commitOf(alice, 13, op{"merge", post, text})), fetcher.SignalHeartbeat, nil},
			{"an identity", frame("#identity", object{"seq": 14, "did": alice, "time": "2026-03-01T12:00:00.123Z", "handle": "a.b"}), fetcher.SignalHeartbeat, func(g fetcher.Signal) bool { return g.Position == at(14) }},
			{"an unknown kind", frame("#tea", object{"seq": 15, "time": "2026-03-01T12:00:00Z"}), fetcher.SignalHeartbeat, nil},
			{"a new state of an account", frame("#sync", object{"seq": 16, "did": alice}), fetcher.SignalGap, nil},
			{"a new state of another", frame("#sync", object{"seq": 17, "did": "did:plc:stranger", "time": "2026-03-01T12:00:00Z"}), fetcher.SignalHeartbeat, nil},
			{"a position too old", frame("#info", object{"name": "OutdatedCursor"}), fetcher.SignalGap, func(g fetcher.Signal) bool { return g.Position == at(17) }},
			{"a key with a slash", frame("#commit", commitOf(alice, 19, op{"create", postCollection + "/a/b", text})), fetcher.SignalGap, nil},
			{"a commit without its record", frame("#commit", missing), fetcher.SignalGap, nil},
			{"a commit that is too big", frame("#commit", big), fetcher.SignalGap, nil},
			{"cut blocks", frame("#commit", cut), fetcher.SignalGap, nil},
			{"no CBOR", []byte("<html>"), fetcher.SignalGap, func(g fetcher.Signal) bool { return g.Position == "" }},
			{"half a frame", encoded(object{"op": 1, "t": "#commit"}), fetcher.SignalGap, nil},
			{"a record of another type", frame("#commit", commitOf(alice, 23, op{"create", post, []any{"x"}})), fetcher.SignalPost, func(g fetcher.Signal) bool { return g.Post.ID != "" }},
		} {
			server.Push(string(c.frame))
			if g := s.next(); g.Kind != c.want || c.check != nil && !c.check(g) {
				t.Errorf("%s: %+v, want kind %d", c.name, g, c.want)
			}
		}
		// A position in the middle of a commit would leave out the rest of it.
		server.Push(string(frame("#commit", commitOf(alice, 30, op{"delete", post, nil}, op{"create", "app.bsky.feed.like/x", object{}}, op{"create", post, text}))))
		if first, last := s.next(), s.next(); first.Kind != fetcher.SignalDelete || first.Position != at(23) || last.Kind != fetcher.SignalPost || last.Position != at(30) {
			t.Errorf("a commit of two changes: %+v, then %+v", first, last)
		}
		s.stop()
	})
}

func TestReposFollowsAccounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newReposServer(t)
		s := server.start(t, fetcher.StreamQuery{Accounts: []fetcher.Account{{Username: "alice.example.com"}}})
		synctest.Wait()
		if len(server.Opened) != 0 {
			t.Fatal("connected without an account that it can name")
		}
		s.changes <- []fetcher.Account{{Username: "alice.example.com", UserID: alice}}
		<-server.Opened
		if up := s.next(); len(up.Accounts) != 1 {
			t.Errorf("up with %v", up.Accounts)
		}
		s.changes <- twoAccounts
		synctest.Wait()
		server.Push(string(frame("#commit", commitOf(bob, 7, op{"delete", postCollection + "/x", nil}))))
		if g := s.next(); g.Kind != fetcher.SignalAccounts || len(g.Accounts) != 2 {
			t.Errorf("signal %+v, want the accounts", g)
		}
		if g := s.next(); g.Kind != fetcher.SignalDelete {
			t.Errorf("signal %+v, want the deletion", g)
		}
		s.changes <- nil
		if err := <-s.ended; !errors.Is(err, fetcher.ErrResubscribe) {
			t.Errorf("without accounts: %v", err)
		}
		s.cancel()
	})
}

func TestReposResumes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newReposServer(t)
		for _, c := range []struct {
			name, position, query string
			resumed               bool
		}{
			{"by the server's number", at(12), "cursor=12", true},
			{"of another server", `{"pds":"other.example.com","seq":12}`, "", false},
			{"from the present", at(0), "", false},
			{"from a number below", at(-1), "", false},
			{"from what is no position", "yesterday", "", false},
		} {
			s := server.start(t, fetcher.StreamQuery{Accounts: twoAccounts, Position: c.position})
			if u := (<-server.Opened).URL; u.RawQuery != c.query {
				t.Errorf("%s: query %q, want %q", c.name, u.RawQuery, c.query)
			}
			if up := s.next(); up.Resumed != c.resumed {
				t.Errorf("%s: resumed %t, want %t", c.name, up.Resumed, c.resumed)
			}
			s.stop()
		}
		// A server that was set up anew has not reached the position: the next
		// connection begins at the present.
		s := server.start(t, fetcher.StreamQuery{Accounts: twoAccounts, Position: at(12)})
		<-server.Opened
		s.next()
		server.Push(string(append(encoded(object{"op": -1}), encoded(object{"error": "FutureCursor", "message": "Cursor in the future."})...)))
		if g := s.next(); g.Kind != fetcher.SignalGap || g.Position != at(0) {
			t.Errorf("signal %+v, want a gap at the present", g)
		}
		if err := <-s.ended; err == nil || !strings.Contains(err.Error(), "FutureCursor") || !strings.Contains(err.Error(), "pds.example.com") {
			t.Errorf("ended with %v", err)
		}
		s.cancel()
	})
}

// The numbers of a server that was set up anew are the position, after a gap.
func TestReposOfANewServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newReposServer(t)
		s := server.start(t, fetcher.StreamQuery{Accounts: twoAccounts, Position: at(5000)})
		<-server.Opened
		s.next()
		gap, deletion := fetcher.SignalGap, fetcher.SignalDelete
		type signal struct {
			kind     fetcher.SignalKind
			position string
		}
		for _, c := range []struct {
			seq  int
			want []signal
		}{
			{5000, []signal{{deletion, at(5000)}}}, // again, which is no loss
			{3, []signal{{gap, at(5000)}, {deletion, at(3)}}},
			{4, []signal{{deletion, at(4)}}},
		} {
			server.Push(string(frame("#commit", commitOf(alice, c.seq, op{"delete", postCollection + "/x", nil}))))
			for _, want := range c.want {
				if g := s.next(); (signal{g.Kind, g.Position}) != want {
					t.Errorf("event %d: %+v, want %+v", c.seq, g, want)
				}
			}
		}
		s.stop()
		s = server.start(t, fetcher.StreamQuery{Accounts: twoAccounts, Position: at(4)})
		if u := (<-server.Opened).URL; u.RawQuery != "cursor=4" {
			t.Errorf("asked for %s", u.RawQuery)
		}
		s.stop()
	})
}

// Without accounts to come, waiting for one ends with the context, and costs nothing.
func TestStreamsWithoutAccounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		repos, err := NewRepos(ReposConfig{PDS: "https://pds.example.com"})
		if err != nil {
			t.Fatal(err)
		}
		jetstream, err := NewJetstream(JetstreamConfig{})
		if err != nil {
			t.Fatal(err)
		}
		closed := make(chan []fetcher.Account)
		close(closed)
		for _, from := range []fetcher.Streamer{repos, jetstream} {
			ctx, cancel := context.WithTimeout(t.Context(), time.Hour) // passes at once when all goroutines wait
			if err := from.Stream(ctx, fetcher.StreamQuery{Changes: closed}, nil); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%T ended with %v", from, err)
			}
			cancel()
		}
	})
}

func TestReposConfig(t *testing.T) {
	for _, u := range []string{"", "wss://pds.example.com", "https://", "https://h/xrpc", "https://h?x", "::"} {
		if _, err := NewRepos(ReposConfig{PDS: u}); err == nil || !strings.Contains(err.Error(), "ReposConfig.PDS") {
			t.Errorf("%q: %v", u, err)
		}
	}
	if _, err := NewRepos(ReposConfig{PDS: "https://h", HTTP: &http.Client{Timeout: time.Second}}); err == nil {
		t.Error("a client with a Timeout was accepted")
	}
	if p, err := NewRepos(ReposConfig{PDS: "https://h"}); err != nil || !p.Brings(nil) {
		t.Error(err)
	}
}

func TestCarBlocks(t *testing.T) {
	one, two := []byte("one"), []byte("two")
	car := carOf(one, two)
	blocks, err := carBlocks(car)
	if err != nil || len(blocks) != 2 || string(blocks[string(cidFor(one))]) != "one" || string(blocks[string(cidFor(two))]) != "two" {
		t.Errorf("%q, %v", blocks, err)
	}
	for name, bad := range map[string][]byte{
		"a cut block":          car[:len(car)-1],
		"a cut length":         append(slices.Clone(car), 0x80),
		"a section of nothing": append(slices.Clone(car), 0),
		"a hash that is cut":   append(slices.Clone(car), 5, 1, 0x71, 0x12, 32, 9),
		"another CID version":  append(slices.Clone(car), 5, 2, 0x71, 0x12, 1, 9),
		"a huge length":        binary.AppendUvarint(slices.Clone(car), 1<<63),
	} {
		if _, err := carBlocks(bad); !errors.Is(err, errCAR) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func FuzzReposMessage(f *testing.F) {
	f.Add(frame("#commit", commitOf(alice, 3, op{"create", postCollection + "/" + tidAt(eventTime), object{"text": "x"}})))
	f.Add(frame("#info", object{"name": "OutdatedCursor"}))
	f.Fuzz(func(t *testing.T, b []byte) {
		s := &repoStream{host: "h", blobs: "https://h", emit: func(g fetcher.Signal) error {
			if g.Kind == fetcher.SignalPost {
				checkSound(t, *g.Post)
			}
			return nil
		}}
		s.want(twoAccounts)
		s.tell()
		_ = s.message(b) // an error ends the stream
	})
}
