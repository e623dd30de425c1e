package wshub_test

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coder/websocket"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/deliver/wshub"
)

func TestFrames(t *testing.T) {
	inWorld(t, nil, func(t *testing.T, w *world) {
		w.store.commit(repeat(alpha, 7)...)
		c := w.open("")
		hello, err := c.read()
		if err != nil || hello.Type != "connected" || hello.Seq != 7 || hello.KeyID != "id-ann" || !strings.HasPrefix(hello.ConnectionID, "con_") {
			t.Fatalf("first frame %+v, %v", hello, err)
		}
		w.hub.Publish(w.store.commit(alpha, gamma))
		c.wants("tweet 8", "tweet 9")
	})
}

func TestPingFrames(t *testing.T) {
	inWorld(t, nil, func(t *testing.T, w *world) {
		start := time.Now()
		c := w.open("")
		c.wants("connected 0")
		for n := 1; n <= 5; n++ {
			m, err := c.read()
			if err != nil || m.Type != "ping" {
				t.Fatalf("%+v, %v", m, err)
			}
			want := start.Add(time.Duration(n) * 30 * time.Second)
			if at, err := time.Parse("2006-01-02T15:04:05.000Z", m.Timestamp); err != nil || !at.Equal(want) || !time.Now().Equal(want) {
				t.Fatalf("ping %d at %s, want %s", n, m.Timestamp, want)
			}
			c.write(`{"type":"pong"}`)
		}
		w.hub.Publish(w.store.commit(alpha))
		c.wants("tweet 1")
	})
}

func TestNarrowing(t *testing.T) {
	rows := map[string]struct{ query, want string }{
		"everything":                    {"", "1 2 3 4"},
		"a monitor":                     {"monitor_id=mon_a", "1 4"},
		"two monitors":                  {"monitor_id=mon_a&monitor_id=mon_b", "1 2 4"},
		"a rule":                        {"rule_id=rul_c", "3"},
		"a monitor and a rule":          {"monitor_id=mon_b&rule_id=rul_c", "2 3"},
		"a rule's id is no monitor's":   {"monitor_id=rul_c&monitor_id=mon_b", "2"},
		"another owner's monitor":       {"monitor_id=mon_x", ""},
		"replay is narrowed, too":       {"since=0&monitor_id=mon_b", "2"},
		"replay of everything":          {"since=0", "1 2 3 4"},
		"replay from the middle":        {"since=2", "3 4"},
		"replay of nothing":             {"since=4", ""},
		"replay of a rule in the store": {"since=1&rule_id=rul_c", "3"},
	}
	for name, row := range rows {
		t.Run(name, func(t *testing.T) {
			inWorld(t, nil, func(t *testing.T, w *world) {
				srcs := []deliver.Source{alpha, beta, gamma, alpha}
				if strings.Contains(row.query, "since") {
					w.store.commit(srcs...)
				}
				c := w.open(row.query)
				if m, err := c.read(); err != nil || m.Type != "connected" {
					t.Fatal(m, err)
				}
				if !strings.Contains(row.query, "since") {
					w.hub.Publish(w.store.commit(srcs...))
				}
				w.hub.Publish(w.store.commit(other))
				var want []string
				for _, n := range strings.Fields(row.want) {
					want = append(want, "tweet "+n)
				}
				c.wants(want...)
				synctest.Wait()
				go w.hub.Shutdown(context.Background())
				c.wantsEnd(websocket.StatusGoingAway)
			})
		})
	}
}

func TestHeadIsFoundInAStoreOfAnySize(t *testing.T) {
	for _, n := range []int{0, 1, 2, 3, 4, 5, 7, 8, 9, 100, 1000} {
		inWorld(t, nil, func(t *testing.T, w *world) {
			w.store.commit(repeat(alpha, n)...)
			m, err := w.open("").read()
			if err != nil || m.Seq != uint64(n) {
				t.Errorf("%d events: connected at %d, %v", n, m.Seq, err)
			}
			if w.store.reads > 24 {
				t.Errorf("%d events: %d reads", n, w.store.reads)
			}
		})
	}
}

func TestRequestsThatAreRefused(t *testing.T) {
	rows := map[string]struct {
		query  string
		header map[string]string
		status int
		says   string
	}{
		"a since of letters":      {"since=abc", nil, 422, `since \"abc\" is not allowed`},
		"a negative since":        {"since=-1", nil, 422, "since"},
		"a since of 2^63":         {"since=9223372036854775808", nil, 422, "since"},
		"a since that is cut":     {"since=1%", nil, 400, "malformed query"},
		"a monitor that is cut":   {"monitor_id=mon_a%&since=1", nil, 400, "malformed query"},
		"an empty since":          {"since=", nil, 422, "since"},
		"an empty monitor":        {"monitor_id=", nil, 422, "monitor_id"},
		"a long rule":             {"rule_id=" + strings.Repeat("x", 129), nil, 422, "rule_id"},
		"101 monitors":            {strings.Repeat("monitor_id=a&", 101), nil, 422, "at most 100"},
		"a page of another host":  {"", map[string]string{"Origin": "https://evil.example"}, 403, "not authorized"},
		"a page of a sub domain":  {"", map[string]string{"Origin": "https://app.hub.example"}, 403, "not authorized"},
		"an origin of no address": {"", map[string]string{"Origin": "null"}, 403, "null"},
	}
	for name, row := range rows {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(o *wshub.Options) { o.MaxConnections = 1 }, func(t *testing.T, w *world) {
				h := http.Header{"X-Api-Key": {"key-ann"}}
				for k, v := range row.header {
					h.Set(k, v)
				}
				_, resp, err := w.connect(row.query, h)
				if err == nil || resp == nil {
					t.Fatalf("connected: %v", err)
				}
				var buf bytes.Buffer
				buf.ReadFrom(resp.Body)
				var body struct{ Error, Detail string }
				if resp.StatusCode != row.status || json.Unmarshal(buf.Bytes(), &body) != nil || body.Error != body.Detail || !strings.Contains(buf.String(), row.says) {
					t.Errorf("%d %s", resp.StatusCode, buf.String())
				}
				if w.keys.calls != 0 {
					t.Error("the key was looked up")
				}
				w.open("").wants("connected 0") // the refused request holds no place
			})
		})
	}
}

func TestOriginsThatAreAllowed(t *testing.T) {
	rows := map[string]struct {
		origin string
		ok     bool
	}{
		"the own host":               {"https://hub.example", true},
		"a host that is listed":      {"https://app.example", true},
		"a pattern":                  {"https://a.trusted.example", true},
		"a scheme that is listed":    {"https://safe.example", true},
		"its other scheme":           {"http://safe.example", false},
		"a host that is not listed":  {"https://evil.example", false},
		"a listed host as beginning": {"https://app.example.evil.example", false},
	}
	for name, row := range rows {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(o *wshub.Options) {
				o.Origins = []string{"app.example", "*.trusted.example", "https://safe.example"}
			}, func(t *testing.T, w *world) {
				_, _, err := w.connect("", http.Header{"X-Api-Key": {"key-ann"}, "Origin": {row.origin}})
				if (err == nil) != row.ok {
					t.Errorf("connected: %v", err)
				}
			})
		})
	}
}

func TestPlainRequest(t *testing.T) {
	inWorld(t, nil, func(t *testing.T, w *world) {
		tr := &http.Transport{DialContext: w.dial, DisableKeepAlives: true}
		resp, err := tr.RoundTrip(mustRequest(t))
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		if resp.StatusCode != http.StatusUpgradeRequired || resp.Header.Get("Content-Type") != "application/json" {
			t.Errorf("%s %s", resp.Status, resp.Header)
		}
		if st := w.hub.Stats(); st.Connections != 0 {
			t.Errorf("%+v", st)
		}
	})
}

func mustRequest(t *testing.T) *http.Request {
	r, err := http.NewRequest(http.MethodGet, "http://hub.example/v1/social/stream", nil)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestRoom(t *testing.T) {
	inWorld(t, func(o *wshub.Options) { o.MaxConnections = 2 }, func(t *testing.T, w *world) {
		a := w.open("")
		if _, _, err := w.connect("", nil); err != nil { // has not authenticated, and counts
			t.Fatal(err)
		}
		_, resp, err := w.connect("", http.Header{"X-Api-Key": {"key-bob"}})
		if err == nil || resp.StatusCode != http.StatusServiceUnavailable || resp.Header.Get("Retry-After") == "" {
			t.Fatalf("%v %v", resp, err)
		}
		a.ws.CloseNow()
		synctest.Wait()
		w.openAs("bob", "").wants("connected 0")
	})
}

func TestOptionsThatAreRefused(t *testing.T) {
	good := wshub.Options{Events: newStore(), Authenticate: (&keys{}).authenticate}
	rows := map[string]struct {
		change func(*wshub.Options)
		says   string
	}{
		"no store":              {func(o *wshub.Options) { o.Events = nil }, "Events"},
		"no authentication":     {func(o *wshub.Options) { o.Authenticate = nil }, "Authenticate"},
		"a broken pattern":      {func(o *wshub.Options) { o.Origins = []string{"[a"} }, `Origins "[a"`},
		"an empty pattern":      {func(o *wshub.Options) { o.Origins = []string{""} }, `Origins ""`},
		"a negative queue":      {func(o *wshub.Options) { o.QueueMessages = -1 }, "QueueMessages -1"},
		"a queue of 1 GiB":      {func(o *wshub.Options) { o.QueueBytes = 1 << 30 }, "QueueBytes"},
		"no connection per key": {func(o *wshub.Options) { o.MaxPerKey = -5 }, "MaxPerKey -5"},
		"no connections":        {func(o *wshub.Options) { o.MaxConnections = -1 }, "MaxConnections -1"},
		"a hot loop":            {func(o *wshub.Options) { o.CatchUp = time.Microsecond }, "CatchUp"},
	}
	if _, err := wshub.New(good); err != nil {
		t.Fatal(err)
	}
	for name, row := range rows {
		o := good
		row.change(&o)
		if _, err := wshub.New(o); err == nil || !strings.Contains(err.Error(), row.says) || !strings.HasPrefix(err.Error(), "wshub: ") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Strangers who say nothing leave room for clients that bring their key, and do
// not hold their places for long.
func TestStrangersLeaveRoom(t *testing.T) {
	inWorld(t, func(o *wshub.Options) { o.MaxConnections = 8 }, func(t *testing.T, w *world) {
		silent := func() *client {
			c, _, err := w.connect("", nil)
			if err != nil {
				t.Fatal(err)
			}
			synctest.Wait() // until the hub has counted it
			return c
		}
		silent()
		second := silent()
		for range 20 {
			silent().wantsEnd(websocket.StatusTryAgainLater)
		}
		w.open("").wants("connected 0")
		second.write(`{"type":"auth","api_key":"key-ann"}`) // its place is another stranger's now
		second.wants("connected 0")
		third := silent()
		advance(5 * time.Second)
		third.wantsEnd(4001, "error 4001")
		silent()
		fourth := silent()
		fourth.write(`{"type":"auth","api_key":"key-ann"}`)
		fourth.wants("connected 0")
	})
}
