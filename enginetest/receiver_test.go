package enginetest_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/deliver/webhook"
	"github.com/streamwatch/streamwatch/enginetest"
	"github.com/streamwatch/streamwatch/fetcher"
)

const secret deliver.Secret = "whsec_for_tests_and_nothing_else"

// body is a tweet.detected object as the engine sends it.
func body(monitor, post string) []byte {
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	e := deliver.Event{
		Source:         deliver.Source{Kind: deliver.SourceMonitor, ID: monitor, Name: "space"},
		TweetID:        post,
		AuthorUsername: "nasa",
		TweetURL:       "https://social.example/@nasa/" + post,
		PublishedAt:    at,
		DetectedAt:     at.Add(1500 * time.Millisecond),
		Latency:        1500 * time.Millisecond,
	}
	return deliver.AppendBody(nil, &e, &fetcher.Tweet{ID: post, Text: "Lift-off"})
}

// request is a signed attempt, to be spoiled by the test.
func request(id string, b []byte) *http.Request {
	req, err := http.NewRequest(http.MethodPost, "http://receiver.example/hook", strings.NewReader(string(b)))
	if err != nil {
		panic(err)
	}
	req.Header.Set(deliver.HeaderDeliveryID, id)
	req.Header.Set(deliver.HeaderWebhookID, "wh_1")
	req.Header.Set(deliver.HeaderSignature, deliver.Sign(secret, b))
	return req
}

// send gives the status of the answer, 0 with an error.
func send(r *enginetest.Receiver, req *http.Request) int {
	resp, err := r.RoundTripper().RoundTrip(req)
	if err != nil {
		return 0
	}
	resp.Body.Close()
	return resp.StatusCode
}

func TestReceiverRecordsADelivery(t *testing.T) {
	c := newClock()
	r := enginetest.NewReceiver(enginetest.ReceiverConfig{
		Secret: secret,
		Answer: func(a enginetest.AttemptInfo) enginetest.Answer {
			if a.N == 1 {
				return enginetest.Answer{Status: 503}
			}
			return enginetest.Answer{Status: 202}
		},
		Now: c.Now,
	})
	first := c.now
	b := body("mon_1", "42")
	for i, want := range []int{503, 202, 202} {
		if got := send(r, request("dlv_1", b)); got != want {
			t.Errorf("attempt %d was answered %d, want %d", i+1, got, want)
		}
		c.advance(time.Minute)
	}
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	want := enginetest.Received{
		ID: "dlv_1", WebhookID: "wh_1",
		Event: "tweet.detected", MonitorID: "mon_1", TweetID: "42", AuthorUsername: "nasa", Text: "Lift-off",
		PublishedAt: at, DetectedAt: at.Add(1500 * time.Millisecond), Latency: 1500 * time.Millisecond,
		Attempts: 3, Accepted: 2, Verified: true, BodySHA256: sha256.Sum256(b),
		FirstAt: first, AcceptedAt: first.Add(time.Minute),
	}
	if got := r.Deliveries(); len(got) != 1 || got[0] != want {
		t.Errorf("recorded %+v\n    want %+v", got, want)
	}
	if got, want := r.Stats(), (enginetest.ReceiverStats{Requests: 3, Accepted: 1, Duplicates: 1}); got != want {
		t.Errorf("counted %+v, want %+v", got, want)
	}
}

func TestReceiverAnswers(t *testing.T) {
	good := body("mon_1", "42")
	withSecret := enginetest.ReceiverConfig{Secret: secret}
	for _, tc := range []struct {
		name  string
		cfg   enginetest.ReceiverConfig
		spoil func(req *http.Request)
		code  int
		want  enginetest.ReceiverStats
	}{
		{"a good request", withSecret, func(*http.Request) {}, 200, enginetest.ReceiverStats{Requests: 1, Accepted: 1}},
		{"another path", withSecret, func(req *http.Request) { req.URL.Path = "/" }, 200, enginetest.ReceiverStats{Requests: 1, Accepted: 1}},
		{"GET", withSecret, func(req *http.Request) { req.Method = http.MethodGet }, 405, enginetest.ReceiverStats{Requests: 1, Refused: 1}},
		{"no delivery id", withSecret, func(req *http.Request) { req.Header.Del(deliver.HeaderDeliveryID) }, 400, enginetest.ReceiverStats{Requests: 1, Refused: 1}},
		{"a body over the cap", withSecret, func(req *http.Request) { req.Body = io.NopCloser(strings.NewReader(strings.Repeat("x", 1<<20+1))) }, 413, enginetest.ReceiverStats{Requests: 1, Refused: 1}},
		{"no signature", withSecret, func(req *http.Request) { req.Header.Del(deliver.HeaderSignature) }, 401, enginetest.ReceiverStats{Requests: 1, Unverified: 1}},
		{"another body's signature", withSecret, func(req *http.Request) {
			req.Header.Set(deliver.HeaderSignature, deliver.Sign(secret, []byte("x")))
		}, 401, enginetest.ReceiverStats{Requests: 1, Unverified: 1}},
		{"no secret to verify with", enginetest.ReceiverConfig{}, func(*http.Request) {}, 200, enginetest.ReceiverStats{Requests: 1, Accepted: 1, Unverified: 1}},
		{"a body that is no event", enginetest.ReceiverConfig{}, func(req *http.Request) { req.Body = io.NopCloser(strings.NewReader("{}")) }, 200, enginetest.ReceiverStats{Requests: 1, Accepted: 1, Unverified: 1, Malformed: 1}},
		{"an answer that fails", enginetest.ReceiverConfig{Secret: secret, Answer: enginetest.Always(enginetest.Answer{Status: 410})}, func(*http.Request) {}, 410, enginetest.ReceiverStats{Requests: 1}},
		{"a redirect is no acceptance", enginetest.ReceiverConfig{Secret: secret, Answer: enginetest.Always(enginetest.Answer{Status: 302})}, func(*http.Request) {}, 302, enginetest.ReceiverStats{Requests: 1}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := enginetest.NewReceiver(tc.cfg)
			req := request("dlv_1", good)
			tc.spoil(req)
			if code := send(r, req); code != tc.code {
				t.Errorf("answered %d, want %d", code, tc.code)
			}
			if got := r.Stats(); got != tc.want {
				t.Errorf("counted %+v, want %+v", got, tc.want)
			}
			for _, d := range r.Deliveries() {
				if (d.Malformed != "") != (tc.want.Malformed == 1) || d.Verified != (tc.want.Unverified == 0) || d.Accepted != tc.want.Accepted {
					t.Errorf("recorded %+v", d)
				}
			}
		})
	}
}

func TestReceiverSeesChangedBytes(t *testing.T) {
	r := enginetest.NewReceiver(enginetest.ReceiverConfig{Secret: secret})
	for _, b := range [][]byte{body("mon_1", "1"), body("mon_1", "1"), body("mon_1", "2"), body("mon_1", "1")} {
		send(r, request("dlv_1", b))
	}
	send(r, request("dlv_2", body("mon_1", "2")))
	if s := r.Stats(); s.BodyChanged != 1 {
		t.Errorf("%d deliveries changed, want 1", s.BodyChanged)
	}
	got := r.Deliveries()
	if !got[0].BodyChanged || got[0].TweetID != "1" || got[1].BodyChanged {
		t.Errorf("recorded %+v, want the first delivery changed, with its first body", got)
	}
}

func TestReceiverNeedsEveryAttemptVerified(t *testing.T) {
	r := enginetest.NewReceiver(enginetest.ReceiverConfig{Secret: secret})
	b := body("mon_1", "1")
	forged := request("dlv_1", b)
	forged.Header.Del(deliver.HeaderSignature)
	for _, req := range []*http.Request{request("dlv_1", b), forged, request("dlv_1", b)} {
		send(r, req)
	}
	if d := r.Deliveries()[0]; d.Verified || d.Attempts != 3 || d.Accepted != 2 {
		t.Errorf("recorded %+v, want 2 of 3 attempts accepted and the delivery not verified", d)
	}
}

func TestFailFirst(t *testing.T) {
	statuses := func(share float64, seed uint64) (failed map[string]bool) {
		answer := enginetest.FailFirst(share, seed)
		failed = make(map[string]bool)
		for i := range 2000 {
			id := fmt.Sprint("dlv_", i)
			first, second := answer(enginetest.AttemptInfo{DeliveryID: id, N: 1}), answer(enginetest.AttemptInfo{DeliveryID: id, N: 2})
			if second.Status != 0 {
				t.Fatalf("second attempt was answered %d", second.Status)
			}
			if first.Status == 500 {
				failed[id] = true
			}
		}
		return failed
	}
	for _, tc := range []struct {
		share    float64
		min, max int
	}{{0, 0, 0}, {0.1, 150, 250}, {0.5, 900, 1100}, {1, 2000, 2000}} {
		if n := len(statuses(tc.share, 1)); n < tc.min || n > tc.max {
			t.Errorf("share %v: %d of 2000 failed, want %d to %d", tc.share, n, tc.min, tc.max)
		}
	}
	one, same, other := statuses(0.5, 1), statuses(0.5, 1), statuses(0.5, 2)
	if fmt.Sprint(one) != fmt.Sprint(same) || fmt.Sprint(one) == fmt.Sprint(other) {
		t.Error("want the same deliveries for a seed, and others for another")
	}
}

// A delay within the deadline is waited out, one beyond it is the sender's error.
func TestReceiverDelayInVirtualTime(t *testing.T) {
	for _, tc := range []struct {
		delay, took time.Duration
		accepted    int
		err         error
	}{
		{0, 0, 1, nil},
		{9 * time.Second, 9 * time.Second, 1, nil},
		{11 * time.Second, 10 * time.Second, 0, context.DeadlineExceeded},
	} {
		synctest.Test(t, func(t *testing.T) {
			r := enginetest.NewReceiver(enginetest.ReceiverConfig{
				Secret: secret,
				Answer: enginetest.Always(enginetest.Answer{Delay: tc.delay, Body: "taken", Header: http.Header{"Retry-After": {"7"}}}),
			})
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			begun := time.Now()
			client := &http.Client{Transport: r.RoundTripper()}
			resp, err := client.Do(request("dlv_1", body("mon_1", "1")).WithContext(ctx))
			if took := time.Since(begun); took != tc.took || !errors.Is(err, tc.err) {
				t.Errorf("delay %s: error %v after %s, want %v after %s", tc.delay, err, took, tc.err, tc.took)
			}
			if err == nil {
				got, _ := io.ReadAll(resp.Body)
				resp.Body.Close()
				if string(got) != "taken" || resp.Header.Get("Retry-After") != "7" {
					t.Errorf("answer %q, Retry-After %q", got, resp.Header.Get("Retry-After"))
				}
			}
			d := r.Deliveries()[0]
			if d.Attempts != 1 || d.Accepted != tc.accepted {
				t.Errorf("delay %s: %d attempts, %d accepted, want 1 and %d", tc.delay, d.Attempts, d.Accepted, tc.accepted)
			}
		})
	}
}

func TestReceiverOverHTTP(t *testing.T) {
	r := enginetest.NewReceiver(enginetest.ReceiverConfig{Secret: secret, Answer: enginetest.FailFirst(0.5, 1)})
	srv := httptest.NewServer(r)
	defer srv.Close()
	sender, err := webhook.New(webhook.Config{AllowPrivate: true})
	if err != nil {
		t.Fatal(err)
	}
	defer sender.Close()
	var wg sync.WaitGroup
	for i := range 40 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			post := fmt.Sprint(i)
			d := deliver.Delivery{
				ID:       "dlv_" + post,
				Event:    &deliver.Event{TweetID: post, Body: body("mon_1", post)},
				Endpoint: deliver.Endpoint{ID: "wh_1", URL: srv.URL, Secret: secret},
			}
			for range 3 {
				if res := sender.Send(t.Context(), &d); res.OK {
					return
				}
			}
			t.Errorf("delivery %s was never accepted", d.ID)
		}()
	}
	wg.Wait()
	s := r.Stats()
	if s.Accepted != 40 || s.Requests < 50 || s.Requests > 70 || s.Unverified+s.Duplicates+s.BodyChanged+s.Malformed+s.Refused != 0 {
		t.Errorf("counted %+v, want 40 accepted in about 60 requests", s)
	}
}

func TestReceiverDoesNotShowItsSecret(t *testing.T) {
	cfg := enginetest.ReceiverConfig{Secret: secret}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s"} {
		if s := fmt.Sprintf(verb, cfg); strings.Contains(s, string(secret)) {
			t.Errorf("%s shows the secret: %s", verb, s)
		}
	}
}

// Whatever is sent: an answer, and counts that add up.
func FuzzReceiver(f *testing.F) {
	f.Add("POST", "dlv_1", "sha256=00", []byte("{}"))
	f.Add("POST", "", "", []byte(nil))
	f.Add("PUT", "dlv_1", "", body("mon_1", "1"))
	f.Add("POST", "dlv_1", deliver.Sign(secret, body("mon_1", "1")), body("mon_1", "1"))
	f.Add("POST", "dlv_1", "", []byte(`{"event":"tweet.detected","latency_ms":-1}`))
	f.Fuzz(func(t *testing.T, method, id, signature string, b []byte) {
		r := enginetest.NewReceiver(enginetest.ReceiverConfig{Secret: secret})
		req := request(id, b)
		req.Method = method
		req.Header.Set(deliver.HeaderSignature, signature)
		code := send(r, req)
		s := r.Stats()
		if s.Requests != 1 || s.Refused+s.Unverified+s.Accepted != 1 || (s.Accepted == 1) != (code == 200) {
			t.Errorf("answered %d, counted %+v", code, s)
		}
		if s.Accepted == 1 && !deliver.Verify(secret, b, signature) {
			t.Error("accepted what is not signed")
		}
		if n := len(r.Deliveries()); n != 1-s.Refused {
			t.Errorf("%d deliveries recorded", n)
		}
	})
}
