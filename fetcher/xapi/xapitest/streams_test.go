package xapitest_test

import (
	"bufio"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/fetcher/internal/sockettest"
	"github.com/streamwatch/streamwatch/fetcher/xapi/xapitest"
)

// streaming runs a test with a Server on a network in memory, in virtual time.
func streaming(t *testing.T, cfg xapitest.Config, test func(t *testing.T, x *xapitest.Server, do func(method, path, body string) *http.Response)) {
	synctest.Test(t, func(t *testing.T) {
		x := xapitest.New(cfg)
		net := sockettest.NewServer(x)
		t.Cleanup(net.Close)
		test(t, x, func(method, path, body string) *http.Response {
			req, err := http.NewRequestWithContext(t.Context(), method, "http://api.example.com"+path, strings.NewReader(body))
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("Authorization", "Bearer token")
			resp, err := net.Client().Do(req)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { resp.Body.Close() })
			return resp
		})
	})
}

// A stream brings what is subscribed to, after the delay, and a sign of life every 20 s.
func TestActivityStream(t *testing.T) {
	streaming(t, xapitest.Config{}, func(t *testing.T, x *xapitest.Server, do func(string, string, string) *http.Response) {
		ann := x.AddAccount("ann")
		x.AddAccount("bob")
		if resp := do("POST", "/2/activity/subscriptions", `{"event_type":"post.create","filter":{"user_id":"`+ann+`"},"tag":"t"}`); resp.StatusCode != http.StatusCreated {
			t.Errorf("subscribing: %s", resp.Status)
		}
		x.Streams.SetFaults(xapitest.StreamFaults{Delay: 3 * time.Second, Duplicate: 1})
		began := time.Now()
		lines := bufio.NewReader(do("GET", "/2/activity/stream", "").Body)
		x.Post("bob", "of another")
		x.Post("ann", "hello")
		for range 2 {
			line, err := lines.ReadString('\n')
			if err != nil || !strings.Contains(line, `"event_type":"post.create"`) || !strings.Contains(line, `"text":"hello"`) || !strings.HasSuffix(line, "\r\n") || time.Since(began) != 3*time.Second {
				t.Errorf("after %s %q, %v: want ann's post after 3 s", time.Since(began), line, err)
			}
		}
		if line, err := lines.ReadString('\n'); line != "\r\n" || err != nil || time.Since(began) != 20*time.Second {
			t.Errorf("after %s %q, %v: want a sign of life after 20 s", time.Since(began), line, err)
		}
		if b := x.Billed(); b != (fetcher.Billed{Events: 1}) {
			t.Errorf("charged for %+v, want one event, though it came twice", b)
		}
		x.Streams.Cut()
		if line, err := lines.ReadString('\n'); err == nil {
			t.Errorf("after the end %q", line)
		}
	})
}

// A connection that broke off counts until its time has passed, or it is ended.
func TestGhostConnections(t *testing.T) {
	streaming(t, xapitest.Config{}, func(t *testing.T, x *xapitest.Server, do func(string, string, string) *http.Response) {
		if resp := do("GET", "/2/tweets/search/stream", ""); resp.StatusCode != http.StatusConflict {
			t.Errorf("without a rule: %s, want 409", resp.Status)
		}
		x.Streams.AddRule("cat", "")
		connect := func(want int) *http.Response {
			t.Helper()
			resp := do("GET", "/2/tweets/search/stream", "")
			if resp.StatusCode != want {
				t.Errorf("connecting: %s, want %d", resp.Status, want)
			}
			return resp
		}
		x.Streams.SetFaults(xapitest.StreamFaults{DisconnectAfter: time.Nanosecond, Torn: 1, GhostFor: time.Minute})
		if b, err := io.ReadAll(connect(200).Body); err == nil || len(b) == 0 || strings.Contains(string(b), "\n") {
			t.Errorf("%q, %v: want a line that is torn off", b, err)
		}
		x.Streams.SetFaults(xapitest.StreamFaults{})
		refused := connect(http.StatusTooManyRequests)
		if b, _ := io.ReadAll(refused.Body); !strings.Contains(string(b), "TooManyConnections") || refused.Header.Get("X-Rate-Limit-Remaining") == "0" {
			t.Errorf("refused with %s, %s calls left: want TooManyConnections, though there are some", b, refused.Header.Get("X-Rate-Limit-Remaining"))
		}
		if resp := do("DELETE", "/2/connections/filtered_stream", ""); resp.StatusCode != http.StatusOK {
			t.Errorf("ending connections: %s", resp.Status)
		}
		connect(200)
		connect(http.StatusTooManyRequests)
		if st := x.Streams.Stats(); st.Ghosts != 1 || st.Torn != 1 || st.Refused != 2 {
			t.Errorf("counted %+v", st)
		}
	})
}

// A rule matches posts from its delay on; a post is billed once, whatever it matches.
func TestFilteredStream(t *testing.T) {
	streaming(t, xapitest.Config{}, func(t *testing.T, x *xapitest.Server, do func(string, string, string) *http.Response) {
		x.AddAccount("ann")
		resp := do("POST", "/2/tweets/search/stream/rules", `{"add":[{"value":"cat","tag":"a"},{"value":"from:ann cat","tag":"b"},{"value":"cat"},{"value":"(cat"}]}`)
		if b, _ := io.ReadAll(resp.Body); resp.StatusCode != http.StatusCreated || !strings.Contains(string(b), "duplicate-rules") || !strings.Contains(string(b), "invalid-rules") {
			t.Errorf("adding rules: %s %s", resp.Status, b)
		}
		lines := bufio.NewReader(do("GET", "/2/tweets/search/stream", "").Body)
		x.Post("ann", "a cat, too early")
		<-time.After(15 * time.Second)
		x.Post("ann", "a cat")
		x.Post("ann", "a dog")
		line, err := lines.ReadString('\n')
		if err != nil || !strings.Contains(line, `"text":"a cat"`) || !strings.Contains(line, `"tag":"a"`) || !strings.Contains(line, `"tag":"b"`) {
			t.Errorf("%q, %v: want the post and both rules", line, err)
		}
		if b := x.Billed(); b != (fetcher.Billed{Posts: 1}) || len(x.Streams.Rules()) != 2 {
			t.Errorf("charged for %+v, rules %+v", b, x.Streams.Rules())
		}
	})
}
