package enginetest_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch/enginetest"
	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/fetcher/mastodon"
)

// serve runs the platform on a loopback port.
func serve(t *testing.T, p *enginetest.Platform) string {
	t.Helper()
	srv := httptest.NewServer(p.Handler())
	t.Cleanup(srv.Close)
	t.Cleanup(http.DefaultClient.CloseIdleConnections)
	return srv.URL
}

// get asks as a client in any language would.
func get(t *testing.T, client *http.Client, url string) (*http.Response, string, error) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return resp, string(body), err
}

const statuses = "/api/v1/accounts/100001/statuses"

func TestHandlerAnswers(t *testing.T) {
	c := newClock()
	p := newPlatform(c, enginetest.PlatformConfig{})
	var ids []string
	for _, text := range []string{"one", "two", "three", "four"} {
		ids = append(ids, p.Post("nasa", text).ID)
		c.advance(time.Second)
	}
	p.SetSuspended("esa", true)
	base := serve(t, p)
	// content lists what a page shows.
	content := func(body string) string {
		var list []struct{ Content string }
		if err := json.Unmarshal([]byte(body), &list); err != nil {
			return err.Error() + ": " + body
		}
		var texts []string
		for _, s := range list {
			texts = append(texts, strings.TrimSuffix(strings.TrimPrefix(s.Content, "<p>"), "</p>"))
		}
		return strings.Join(texts, " ")
	}
	whole := func(body string) string { return body }
	accountID := func(body string) string {
		var a struct {
			ID, Acct  string
			Suspended bool
		}
		json.Unmarshal([]byte(body), &a)
		return fmt.Sprint(a.ID, " ", a.Acct, " ", a.Suspended)
	}
	link := func(query, rel string) string {
		return "<" + base + statuses + "?" + query + `>; rel="` + rel + `"`
	}
	for _, tc := range []struct {
		name, path string
		code       int
		show       func(string) string
		body, link string
	}{
		{"an account by its handle", "/api/v1/accounts/lookup?acct=nasa", 200, accountID, "100001 nasa false", ""},
		{"in another spelling", "/api/v1/accounts/lookup?acct=@NASA", 200, accountID, "100001 nasa false", ""},
		{"a suspended account says so", "/api/v1/accounts/lookup?acct=esa", 200, accountID, "100002 esa true", ""},
		{"an unknown handle", "/api/v1/accounts/lookup?acct=nobody", 404, whole, `{"error":"Record not found"}`, ""},
		{"no handle", "/api/v1/accounts/lookup", 404, whole, `{"error":"Record not found"}`, ""},
		{"all posts, newest first", statuses, 200, content, "four three two one", link("min_id="+ids[3], "prev")},
		{"a limit", statuses + "?limit=2", 200, content, "four three", link("limit=2&max_id="+ids[2], "next") + ", " + link("limit=2&min_id="+ids[3], "prev")},
		{"older ones", statuses + "?limit=2&max_id=" + ids[2], 200, content, "two one", link("limit=2&min_id="+ids[1], "prev")},
		{"older than the oldest", statuses + "?max_id=" + ids[0], 200, whole, "[]", ""},
		{"newest above an id", statuses + "?limit=1&since_id=" + ids[0], 200, content, "four", link("limit=1&max_id="+ids[3], "next") + ", " + link("limit=1&min_id="+ids[3], "prev")},
		{"all above an id", statuses + "?since_id=" + ids[2], 200, content, "four", link("max_id="+ids[3], "next") + ", " + link("min_id="+ids[3], "prev")},
		{"next above an id", statuses + "?limit=2&min_id=" + ids[0], 200, content, "three two", link("limit=2&max_id="+ids[1], "next") + ", " + link("limit=2&min_id="+ids[2], "prev")},
		{"all above a bound no post can reach", statuses + "?since_id=18446744073709551615", 200, whole, "[]", ""},
		{"an unknown id", "/api/v1/accounts/7/statuses", 404, whole, `{"error":"Record not found"}`, ""},
		{"a suspended account", "/api/v1/accounts/100002/statuses", 403, whole, `{"error":"This action is not allowed"}`, ""},
		{"a limit of 0", statuses + "?limit=0", 400, whole, `{"error":"limit \"0\" is not allowed: want 1 to 40"}`, ""},
		{"an id that is none", statuses + "?max_id=x", 400, whole, `{"error":"max_id \"x\" is not allowed: want the id of a status"}`, ""},
		{"another page", "/about", 404, whole, `{"error":"The page you are looking for isn't here"}`, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			resp, body, err := get(t, http.DefaultClient, base+tc.path)
			if err != nil || resp.StatusCode != tc.code || tc.show(body) != tc.body {
				t.Errorf("%d %s (error %v), want %d %s", resp.StatusCode, tc.show(body), err, tc.code, tc.body)
			}
			if got := resp.Header.Get("Link"); got != tc.link {
				t.Errorf("Link %s, want %s", got, tc.link)
			}
			if got := resp.Header.Get("Content-Type"); got != "application/json; charset=utf-8" {
				t.Errorf("Content-Type %q", got)
			}
		})
	}
	if s := p.Stats(); s.Lookups != 5 || s.BadRequest != 2 || s.Protected != 1 || s.NotFound != 3 || s.OK != 11 {
		t.Errorf("counted %+v", s)
	}
}

func TestHandlerHeaders(t *testing.T) {
	c := newClock()
	p := newPlatform(c, enginetest.PlatformConfig{RateLimit: 1, RateWindow: time.Minute})
	base := serve(t, p)
	for _, want := range []map[string]string{
		{"X-Ratelimit-Limit": "1", "X-Ratelimit-Remaining": "0", "X-Ratelimit-Reset": "2026-03-01T12:01:00.000000Z", "Retry-After": "", "Date": "Sun, 01 Mar 2026 12:00:00 GMT"},
		{"X-Ratelimit-Remaining": "0", "X-Ratelimit-Reset": "2026-03-01T12:01:00.000000Z", "Retry-After": "31", "Date": "Sun, 01 Mar 2026 12:00:29 GMT"},
	} {
		resp, _, _ := get(t, http.DefaultClient, base+statuses)
		for name, value := range want {
			if got := resp.Header.Get(name); got != value {
				t.Errorf("%s: %q, want %q", name, got, value)
			}
		}
		c.advance(29*time.Second + time.Millisecond)
	}
}

func TestHandlerFaults(t *testing.T) {
	parses := func(body string) bool { return json.Valid([]byte(body)) }
	for _, tc := range []struct {
		name   string
		faults enginetest.Faults
		want   func(resp *http.Response, body string, err error) string // the form of the fault, "" if it is none
		forms  int
	}{
		{"server error", enginetest.Faults{ServerError: 1}, func(resp *http.Response, body string, err error) string {
			if resp.StatusCode == 503 && err == nil && parses(body) {
				return "503"
			}
			return ""
		}, 1},
		{"truncated", enginetest.Faults{Truncated: 1}, func(resp *http.Response, body string, err error) string {
			switch {
			case resp.StatusCode != 200 || parses(body):
				return ""
			case errors.Is(err, io.ErrUnexpectedEOF) && int(resp.ContentLength) > len(body):
				return "cut HTTP"
			case err == nil && int(resp.ContentLength) == len(body):
				return "cut JSON"
			}
			return ""
		}, 2},
		{"HTML", enginetest.Faults{HTML: 1}, func(resp *http.Response, body string, err error) string {
			if resp.StatusCode == 200 && strings.HasPrefix(resp.Header.Get("Content-Type"), "text/html") && strings.HasPrefix(body, "<!DOCTYPE html>") {
				return "html"
			}
			return ""
		}, 1},
		{"rate limited", enginetest.Faults{RateLimited: 1}, func(resp *http.Response, body string, err error) string {
			if resp.StatusCode == 429 && resp.Header.Get("Retry-After") == "1" {
				return "429"
			}
			return ""
		}, 1},
		{"null fields", enginetest.Faults{NullFields: 1}, func(resp *http.Response, body string, err error) string {
			switch {
			case !parses(body):
				return ""
			case strings.Count(body, `{"id":null`) == 1:
				return "id"
			case strings.Count(body, `"created_at":null,"in_reply_to_id"`) == 1:
				return "created_at"
			}
			return ""
		}, 2},
		{"wrong author", enginetest.Faults{WrongAuthor: 1}, func(resp *http.Response, body string, err error) string {
			if strings.Contains(body, `"acct":"somebody_else"`) {
				return "foreign"
			}
			return ""
		}, 1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p := newPlatform(newClock(), enginetest.PlatformConfig{Faults: tc.faults})
			p.Post("nasa", "x")
			base := serve(t, p)
			for via, client := range map[string]*http.Client{
				"by sockets": http.DefaultClient,
				"in process": {Transport: p.RoundTripper()},
			} {
				forms := make(map[string]bool)
				for range 20 {
					resp, body, err := get(t, client, base+statuses)
					form := tc.want(resp, body, err)
					if form == "" {
						t.Fatalf("%s: %d %s (error %v) is not the fault", via, resp.StatusCode, body, err)
					}
					forms[form] = true
				}
				if len(forms) != tc.forms {
					t.Errorf("%s: forms %v, want %d", via, forms, tc.forms)
				}
			}
		})
	}
}

// poller is the project's own client of the API.
func poller(t *testing.T, base string, transport http.RoundTripper) *mastodon.Fetcher {
	t.Helper()
	m, err := mastodon.New(mastodon.Config{BaseURL: base, HTTP: &http.Client{Transport: transport}})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// A client sees over HTTP what a direct reader sees.
func TestBothWaysInAgree(t *testing.T) {
	c := newClock()
	p := newPlatform(c, enginetest.PlatformConfig{PageSize: 5})
	original := p.Post("esa", "An original & <b>more</b>")
	var last fetcher.Tweet
	for i := range 12 {
		c.advance(1357 * time.Millisecond)
		last = p.Post("nasa", fmt.Sprintf("Post %d\nof \"many\"", i))
	}
	p.Post("nasa", "answer", enginetest.ReplyTo(original))
	p.Post("nasa", "see this", enginetest.Quoting(last))
	p.Post("nasa", "", enginetest.Retweeting(original))

	transport := new(http.Transport)
	t.Cleanup(transport.CloseIdleConnections)
	m := poller(t, serve(t, p), transport)
	q := fetcher.TimelineQuery{Username: "nasa"}
	for pages := 0; ; pages++ {
		direct := read(t, p, q)
		over, err := m.Timeline(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		if over.Next != direct.Next || !over.OldestAt.Equal(direct.OldestAt) || over.UserID != direct.UserID || len(over.Tweets) != len(direct.Tweets) {
			t.Fatalf("page %d: %d posts to %s, next %q; directly %d to %s, next %q", pages,
				len(over.Tweets), over.OldestAt, over.Next, len(direct.Tweets), direct.OldestAt, direct.Next)
		}
		for i, d := range direct.Tweets {
			o := over.Tweets[i]
			if d.IsRetweet { // over HTTP it leads to the boosted post
				o.Permalink, d.Permalink = "", ""
			}
			got := fmt.Sprint(o.ID, o.Text, o.UserID, o.Username, o.CreatedAt, o.PublishedAt, o.Permalink, o.InReplyToStatusID, o.InReplyToUserID, o.QuotedStatusID, o.IsQuoteStatus, o.IsRetweet, o.RetweetedStatusID)
			want := fmt.Sprint(d.ID, d.Text, d.UserID, d.Username, d.CreatedAt, d.PublishedAt, d.Permalink, d.InReplyToStatusID, d.InReplyToUserID, d.QuotedStatusID, d.IsQuoteStatus, d.IsRetweet, d.RetweetedStatusID)
			if got != want {
				t.Errorf("over HTTP %s\n  directly %s", got, want)
			}
		}
		if direct.Next == "" {
			if pages != 2 {
				t.Errorf("%d pages, want 3", pages+1)
			}
			return
		}
		q.Cursor = direct.Next
	}
}

// The client turns every fault into the error that the platform gives directly.
func TestBothWaysInFailAlike(t *testing.T) {
	for name, tc := range map[string]struct {
		faults enginetest.Faults
		want   any
	}{
		"server error": {enginetest.Faults{ServerError: 1}, new(*fetcher.StatusError)},
		"truncated":    {enginetest.Faults{Truncated: 1}, fetcher.ErrMalformed},
		"HTML":         {enginetest.Faults{HTML: 1}, fetcher.ErrMalformed},
		"rate limited": {enginetest.Faults{RateLimited: 1}, new(*fetcher.RateLimitError)},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPlatform(newClock(), enginetest.PlatformConfig{Faults: tc.faults})
			m := poller(t, "http://social.example", p.RoundTripper())
			for range 10 {
				for _, f := range []fetcher.Fetcher{p, m} {
					_, err := f.Timeline(t.Context(), fetcher.TimelineQuery{Username: "nasa", UserID: "100001"})
					if target, ok := tc.want.(error); ok && !errors.Is(err, target) || !ok && !errors.As(err, tc.want) {
						t.Errorf("%T: error %v", f, err)
					}
				}
			}
		})
	}
}

// Virtual time goes by over HTTP too, when there are no sockets.
func TestRoundTripperInVirtualTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := enginetest.NewPlatform(enginetest.PlatformConfig{Latency: time.Second, LateShare: 0.5, LateUpTo: time.Minute})
		m := poller(t, "https://social.example", p.RoundTripper())
		go p.Run(t.Context(), enginetest.PostRate{PerSecond: 1, Total: 300})
		met := make(map[string]time.Time)
		for end := time.Now().Add(15 * time.Minute); time.Now().Before(end); <-time.After(20 * time.Second) {
			for _, name := range enginetest.AccountNames(10) {
				page, err := m.Timeline(t.Context(), fetcher.TimelineQuery{Username: name})
				if err != nil {
					t.Fatal(err)
				}
				for _, tw := range page.Tweets {
					if met[tw.ID].IsZero() {
						met[tw.ID] = time.Now()
					}
				}
			}
		}
		truth := p.Posted()
		for _, tr := range truth {
			if at := met[tr.ID]; at.Before(tr.VisibleAt) || at.Sub(tr.VisibleAt) > 35*time.Second {
				t.Errorf("post %s, visible %s, was met %s", tr.ID, tr.VisibleAt, at)
			}
		}
		if len(truth) != 300 || len(met) != 300 {
			t.Errorf("%d posts shown, %d met, want 300", len(truth), len(met))
		}
		if s := p.Stats(); s.Lookups != 10 {
			t.Errorf("%d look-ups, want one an account", s.Lookups)
		}
	})
}

// Whatever the parameters: an answer, whole JSON, newest first.
func FuzzHandler(f *testing.F) {
	for _, seed := range []string{"", "limit=3", "limit=-1", "max_id=18446744073709551615&min_id=1", "since_id=18446744073709551615", "min_id=18446744073709551615", "max_id=1;limit=x", "%zz"} {
		f.Add(seed)
	}
	p := newPlatform(newClock(), enginetest.PlatformConfig{})
	for range 10 {
		p.Post("nasa", "x")
	}
	client := &http.Client{Transport: p.RoundTripper()}
	f.Fuzz(func(t *testing.T, query string) {
		u := url.URL{Scheme: "http", Host: "social.example", Path: statuses, RawQuery: query}
		req, err := http.NewRequest(http.MethodGet, u.String(), nil)
		if err != nil {
			t.Skip() // no client would send it
		}
		resp, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		if err != nil || !json.Valid(body) {
			t.Fatalf("body %q, error %v", body, err)
		}
		var list []struct{ ID string }
		if resp.StatusCode == http.StatusOK {
			if err := json.Unmarshal(body, &list); err != nil {
				t.Fatal(err)
			}
		} else if resp.StatusCode != http.StatusBadRequest {
			t.Fatalf("status %d", resp.StatusCode)
		}
		for i := 1; i < len(list); i++ {
			if list[i].ID >= list[i-1].ID { // all have the same length
				t.Fatalf("ids %v are not newest first", list)
			}
		}
	})
}
