package enginehttp_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/deliver/wshub"
	"github.com/streamwatch/streamwatch/detect"
	"github.com/streamwatch/streamwatch/enginehttp"
	"github.com/streamwatch/streamwatch/secret"
)

// The access log has one line for each request, with its owner and its cost, and
// never a secret, query string, path or body.
func TestAccessLog(t *testing.T) {
	var out bytes.Buffer
	p := &providers{}
	w := newWorld(t, func(s *setup) {
		s.options.Providers = p.all()
		s.options.Logger = slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: slog.LevelDebug}))
	})
	const canary = "canary_secret_0123456789_abcdefg"
	w.do(mine, "GET", "/v1/account/me", "")
	w.do(mine, "GET", "/v1/account/me?token="+canary, "")
	named := request("GET", "/v1/account/me", "")
	named.Header.Set("X-Api-Key", w.key[mine])
	named.Header.Set("X-Request-Id", "trace-7")
	w.send(named)
	w.do(mine, "GET", monitors+"/"+canary, "")
	w.do(mine, "GET", monitors+"/mon_"+canary, "")
	w.do(mine, "GET", monitors+"/"+w.key[mine], "")
	w.do(mine, "GET", "/v1/"+canary, "")
	w.do(mine, "POST", monitors, `{"name":"m","usernames":["esa"],"webhook_url":"https://user:`+canary+`@hooks.example.com/?q=`+canary+`","webhook_secret":"`+canary+`"}`)
	w.do(mine, "POST", monitors, `{"name":"m","usernames":["esa"],"webhook_url":"https://hooks.example.com/`+canary+`","webhook_secret":"`+canary+`"}`)
	r := request("GET", "/v1/account/me", "")
	r.Header.Set("X-Api-Key", canary)
	w.send(r)
	p.err = errBroken
	failed := w.do(mine, "GET", social+"/users/nasa/by_username", "")
	p.hook = func(context.Context) error { panic("broken") }
	a := w.do(mine, "GET", social+"/users/nasa/by_username", "")
	log := out.String()
	if a.status != 500 || !strings.Contains(a.body, `"error":"internal error"`) {
		t.Errorf("a panic: %d %s", a.status, a.body)
	}
	for _, secret := range []string{canary, w.key[mine], hookSecret, "whsec_"} {
		if strings.Contains(log, secret) {
			t.Errorf("%q is in the log:\n%s", secret, log)
		}
	}
	for _, want := range []string{
		"level=INFO msg=request request_id=req_", "method=GET route=/v1/account/me status=200 bytes=", " owner=acme key_id=", " credits=1\n", "msg=request request_id=trace-7 ", " credits=1 charge_id=req_",
		`route="" status=404`, "route=/v1/account/me status=401", "status=422",
		"level=ERROR msg=request request_id=" + failed.header.Get("X-Request-Id"), "connection refused",
		"msg=panic request_id=" + a.header.Get("X-Request-Id"), "panic=broken stack=",
	} {
		if !strings.Contains(log, want) {
			t.Errorf("no %q in the log:\n%s", want, log)
		}
	}
	if n := strings.Count(log, "msg=request"); n != 12 {
		t.Errorf("%d lines for 12 requests", n)
	}
}

// The line of a request has the id of its record, also of one that it makes, and the client's address.
func TestAccessLogTellsOfWhatAndByWhom(t *testing.T) {
	var out bytes.Buffer
	w := newWorld(t, func(s *setup) {
		s.options.Logger = slog.New(slog.NewTextHandler(&out, nil))
		s.options.Address = func(r *http.Request) string { return r.Header.Get("X-Real-Ip") }
	})
	for _, row := range []struct {
		method, path, body string
		id                 string // a regular expression
	}{
		{"GET", monitors + "/{monitor}", "", "{monitor}"},
		{"PATCH", monitors + "/{monitor}", `{"name":""}`, "{monitor}"}, // 422
		{"GET", rules + "/{rule}/logs", "", "{rule}"},
		{"PATCH", rules + "/{rule}", `{"status":"paused"}`, "{rule}"},
		{"POST", webhooks + "/{webhook}/enable", "", "{webhook}"},
		{"GET", social + "/stream/deliveries/{delivery}", "", "{delivery}"},
		{"POST", webhooks + "/test", `{"monitor_id":"{monitor}"}`, "{webhook}"},
		{"DELETE", "/v1/account/keys/{key}", "", "{key}"},
		{"POST", monitors, `{"name":"new","usernames":["esa"]}`, "mon_[a-z0-9]{26}"},
		{"POST", rules, `{"tag":"new","query":"moon","interval_seconds":60}`, "rul_[a-z0-9]{26}"},
		{"POST", webhooks, `{"monitor_id":"{monitor}","url":"https://hooks.example.com/new"}`, "whk_[a-z0-9]{26}"},
		{"POST", "/v1/account/keys", `{"name":"new"}`, "key_[a-z0-9]{26}"},
		{"GET", monitors + "/mon_aaaaaaaaaaaaaaaaaaaaaaaaaa", "", "mon_aaaaaaaaaaaaaaaaaaaaaaaaaa"}, // 404
		{"GET", monitors, "", ""},
		{"GET", social + "/users/nasa/by_username", "", ""},
	} {
		out.Reset()
		r := request(row.method, w.ids[mine].Replace(row.path), w.ids[mine].Replace(row.body))
		r.Header.Set("X-Api-Key", w.key[mine])
		r.Header.Set("X-Real-Ip", "192.0.2.7")
		w.send(r)
		want := `client=192\.0\.2\.7 owner=acme key_id=\S+( id=` + w.ids[mine].Replace(row.id) + `)( credits=1)?( charge_id=\S+)?\n`
		if row.id == "" {
			want = `client=192\.0\.2\.7 owner=acme key_id=\S+( credits=1)?\n`
		}
		if !regexp.MustCompile(want).MatchString(out.String()) {
			t.Errorf("%s %s: %s, want %s", row.method, row.path, &out, want)
		}
	}
}

// A panic after the answer has begun aborts the connection.
func TestPanicAfterTheAnswerBegan(t *testing.T) {
	w := newWorld(t)
	r := request("GET", "/v1/account/me", "")
	r.Header.Set("X-Api-Key", w.key[mine])
	defer func() {
		if p := recover(); p != http.ErrAbortHandler {
			t.Errorf("%v, want http.ErrAbortHandler", p)
		}
		if spent, _ := w.spent(mine); spent != 0 {
			t.Errorf("charged %d", spent)
		}
	}()
	w.handler.ServeHTTP(panicWriter{httptest.NewRecorder()}, r)
}

type panicWriter struct{ http.ResponseWriter }

func (w panicWriter) Write(b []byte) (int, error) { panic("broken writer") }

// The delivery log can be filtered by destination, and its pages are those of the
// filtered log.
func TestDeliveryLogDestinations(t *testing.T) {
	w := newWorld(t, func(s *setup) {
		s.engine.OnEvent = func(context.Context, deliver.Event) error { return nil }
	})
	src := deliver.Source{Kind: deliver.SourceMonitor, ID: "mon_x", Owner: mine, Name: "space"}
	for i := range 45 {
		name := "default"
		if i%3 == 0 {
			name = "websocket/" + mine
		}
		ev := deliver.Event{ID: deliver.EventID("mon_x", fmt.Sprint(i)), Source: src, TweetID: fmt.Sprint(i), AuthorUsername: "nasa", Latency: time.Duration(i) * time.Second, Handlers: []string{name}, Body: []byte("{}")}
		id := deliver.DeliveryID(ev.ID, deliver.HandlerEndpoint(name))
		if err := w.store.Ports().Journal.Commit(t.Context(), []*detect.Batch{{Cursor: &detect.Cursor{Target: "nasa", Since: time.Now()}, Events: []deliver.Event{ev}}}); err != nil {
			t.Fatal(err)
		}
		state := deliver.StateDelivered
		if i == 0 { // no client took it
			state = deliver.StateFailed
		}
		if err := w.store.Ports().Outbox.Settle(t.Context(), deliver.Settlement{DeliveryID: id, State: state, Attempt: &deliver.Attempt{N: 1, At: time.Now()}}); err != nil {
			t.Fatal(err)
		}
	}
	for _, row := range []struct {
		query   string
		logs    int
		total   float64
		first   string
		badge   string
		webhook any
	}{
		{"?delivery_status=websocket_delivered&sort=asc", 14, 14, "3", "yellow", nil},
		{"?delivery_status=websocket_delivered&page=2&page_size=10", 4, 14, "12", "red", nil},
		{"?delivery_status=websocket_delivered&page=3&page_size=10", 0, 14, "", "", nil},
		{"?delivery_status=websocket_failed", 1, 1, "0", "green", nil},
		{"?delivery_status=handler_delivered&sort=asc&page_size=7", 7, 30, "1", "green", nil},
		{"?delivery_status=handler_delivered&sort=asc&page=2&page_size=2", 2, 30, "4", "yellow", nil},
		{"?delivery_status=webhook_delivered", 0, 0, "", "", nil},
		{"?monitor_id=mon_x", 20, 45, "44", "red", nil},
		{"?monitor_id=mon_y", 0, 0, "", "", nil},
		{"", 20, 46, "44", "red", nil},
	} {
		a := w.do(mine, "GET", social+"/stream/logs"+row.query, "")
		v := a.decode(t)
		list := v["logs"].([]any)
		if a.status != 200 || len(list) != row.logs || v["total"] != row.total {
			t.Errorf("%s: %d, %d of %v, want %d of %v", row.query, a.status, len(list), v["total"], row.logs, row.total)
			continue
		}
		if row.logs > 0 {
			if e := list[0].(map[string]any); e["tweet_id"] != row.first || e["latency_badge"] != row.badge || e["webhook_id"] != row.webhook {
				t.Errorf("%s: first %v, want %+v", row.query, e, row)
			}
		}
	}
}

// A rule's deliveries are in the rule's log and in that of all, and in no monitor's.
func TestDeliveryLogOfARule(t *testing.T) {
	w := newWorld(t)
	id := w.ids[mine].Replace("{rule}")
	ev := deliver.Event{ID: deliver.EventID(id, "5"), Source: deliver.Source{Kind: deliver.SourceRule, ID: id, Owner: mine, Name: "moon"},
		TweetID: "5", AuthorUsername: "nasa", Handlers: []string{"default"}, Body: []byte("{}")}
	if err := w.store.Ports().Journal.Commit(t.Context(), []*detect.Batch{{Cursor: &detect.Cursor{Target: "q", Since: time.Now()}, Events: []deliver.Event{ev}}}); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		"/stream/filter-rules/{rule}/logs":                                              `"tweet_id":"5"`,
		"/stream/filter-rules/{rule}/logs?delivery_status=pending":                      `"rule_tag":"moon","webhook_id":null`,
		"/stream/filter-rules/{rule}/logs?delivery_status=handler_delivered":            `"total":0`,
		"/stream/filter-rules/{rule}/logs?author_username=NASA&delivery_status=pending": `"total":1`,
		"/stream/logs":                      `"tweet_id":"5"`,
		"/stream/logs?sort=asc&page_size=1": `"tweet_id":"1234"`,
		"/stream/logs?author_username=https://nasa.example/feed":    `"total":0`,
		"/stream/logs?author_username=@nasa":                        `"total":2`,
		"/stream/logs?author_username=nasa":                         `"total":2`,
		"/stream/logs?monitor_id=" + id:                             `"total":0`,
		"/stream/logs?monitor_id={monitor}":                         `"total":1`,
		"/stream/logs?delivery_status=pending":                      `"total":1`,
		"/stream/logs?delivery_status=pending&monitor_id={monitor}": `"total":0`,
	} {
		if a := w.do(mine, "GET", social+path, ""); a.status != 200 || !strings.Contains(a.body, want) {
			t.Errorf("%s: %d %s, want %s", path, a.status, a.body, want)
		}
	}
}

// Without a hub the WebSocket endpoint answers 501. With one, WebSocketAuth makes it
// take the same keys.
func TestWebSocketAuth(t *testing.T) {
	w := newWorld(t)
	if a := w.send(request("GET", social+"/stream", "")); a.status != 501 {
		t.Errorf("without a hub: %d", a.status)
	}
	auth := enginehttp.WebSocketAuth(w.keys)
	id, err := auth(t.Context(), secret.Value(w.key[mine]))
	if err != nil || id.Owner != mine || id.KeyID == "" {
		t.Errorf("%+v, %v", id, err)
	}
	if _, err := auth(t.Context(), "sw_live_nonsense"); err != wshub.ErrBadKey {
		t.Errorf("%v, want wshub.ErrBadKey", err)
	}
	w = newWorld(t, func(s *setup) { s.engine.WebSocket = &wshub.Options{Authenticate: auth} })
	if a := w.send(request("GET", social+"/stream?since=x", "")); a.status != 422 {
		t.Errorf("since=x: %d %s", a.status, a.body)
	}
	if a := w.send(request("GET", social+"/stream", "")); a.status != 426 {
		t.Errorf("no upgrade: %d %s", a.status, a.body)
	}
}
