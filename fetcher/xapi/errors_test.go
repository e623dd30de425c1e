package xapi_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/fetcher/xapi"
	"github.com/streamwatch/streamwatch/fetcher/xapi/xapitest"
)

// says answers any request with a status, a body and headers.
func says(status int, body string, headers ...string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		for i := 0; i+1 < len(headers); i += 2 {
			w.Header().Set(headers[i], headers[i+1])
		}
		w.WriteHeader(status)
		io.WriteString(w, body)
	})
}

const problems = `https://api.x.com/2/problems/`

// What X says when it refuses, by docs.x.com/x-api/fundamentals/response-codes-and-errors
// and what clients have reported.
func TestErrors(t *testing.T) {
	for name, row := range map[string]struct {
		answer http.Handler
		want   error
	}{
		"401":                                  {says(401, `{"title":"Unauthorized","type":"about:blank","status":401,"detail":"Unauthorized"}`), fetcher.ErrUnauthorized},
		"403 of the app":                       {says(403, `{"type":"`+problems+`client-forbidden","title":"Client Forbidden","reason":"client-not-enrolled","detail":"enroll"}`), fetcher.ErrUnauthorized},
		"403 of the authentication":            {says(403, `{"type":"`+problems+`unsupported-authentication","title":"Unsupported Authentication"}`), fetcher.ErrUnauthorized},
		"403 of an account":                    {says(403, `{"type":"`+problems+`not-authorized-for-resource","title":"Authorization Error"}`), fetcher.ErrProtected},
		"403 without a body":                   {says(403, ``), fetcher.ErrUnauthorized},
		"404":                                  {says(404, `{"type":"https://api.twitter.com/2/problems/resource-not-found","title":"Not Found Error"}`), fetcher.ErrNotFound},
		"404 of a suspended one":               {says(404, `{"type":"`+problems+`resource-not-found","detail":"User has been suspended: [ann]."}`), fetcher.ErrProtected},
		"200 of a suspended one":               {says(200, `{"errors":[{"type":"`+problems+`resource-not-found","resource_type":"user","detail":"User has been suspended: [12]."}]}`), fetcher.ErrProtected},
		"200 of nobody":                        {says(200, `{"errors":[{"type":"`+problems+`resource-not-found","resource_type":"user","title":"Not Found Error"}]}`), fetcher.ErrNotFound},
		"200 of a protected one":               {says(200, `{"errors":[{"type":"https://api.twitter.com/2/problems/not-authorized-for-resource","title":"Authorization Error"}]}`), fetcher.ErrProtected},
		"200 of a post that another refers to": {says(200, `{"errors":[{"type":"`+problems+`resource-not-found","resource_type":"tweet","title":"Not Found Error"}],"meta":{"result_count":0}}`), nil},
		"a web page":                           {says(200, `<html>`), fetcher.ErrMalformed},
		"torn JSON":                            {says(200, `{"data":[{"id":"12","te`), fetcher.ErrMalformed},
		"another object":                       {says(200, `{"ok":true}`), fetcher.ErrMalformed},
		"data that is no list":                 {says(200, `{"data":{"id":"12"}}`), fetcher.ErrMalformed},
		"posts that are not there":             {says(200, `{"meta":{"result_count":3}}`), fetcher.ErrMalformed},
		"a token that is none":                 {says(200, `{"meta":{"result_count":0,"next_token":"a b&c"}}`), fetcher.ErrMalformed},
		"too much":                             {says(200, `{"meta":{"result_count":0},"x":"`+strings.Repeat("x", 9<<20)+`"}`), fetcher.ErrMalformed},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, xapitest.Config{}, nil)
			r.Instead(row.answer)
			_, err := r.Timeline(context.Background(), fetcher.TimelineQuery{Username: "ann", UserID: "12"})
			if row.want == nil && err != nil {
				t.Errorf("the error is %v: want none", err)
			}
			for _, e := range []error{fetcher.ErrUnauthorized, fetcher.ErrProtected, fetcher.ErrNotFound, fetcher.ErrMalformed} {
				if errors.Is(err, e) != (e == row.want) {
					t.Errorf("the error is %v: want %v alone", err, row.want)
				}
			}
		})
	}
}

// A rate limit closes the endpoint until its window ends; what no call can help closes
// the source.
func TestLimits(t *testing.T) {
	reset := func(r *rig, after time.Duration) string { return fmt.Sprint(r.clock().Add(after).Unix()) }
	for name, row := range map[string]struct {
		answer func(r *rig) http.Handler
		wait   time.Duration
		all    bool
		reason string
	}{
		"a rate limit": {func(r *rig) http.Handler {
			return says(429, `{"title":"Too Many Requests","type":"about:blank"}`, "x-rate-limit-limit", "10000", "x-rate-limit-remaining", "0", "x-rate-limit-reset", reset(r, 7*time.Minute))
		}, 7 * time.Minute, false, ""},
		"a rate limit of the first version": {func(r *rig) http.Handler {
			return says(429, `{"errors":[{"code":88,"message":"Rate limit exceeded"}]}`, "x-rate-limit-remaining", "0", "x-rate-limit-reset", reset(r, time.Minute))
		}, time.Minute, false, ""},
		"a usage cap": {func(r *rig) http.Handler {
			return says(429, `{"type":"`+problems+`usage-capped","title":"UsageCapExceeded","period":"Monthly","scope":"Product"}`, "x-rate-limit-remaining", "99")
		}, time.Hour, true, "Monthly"},
		"a usage cap told by 403": {func(r *rig) http.Handler { return says(403, `{"type":"`+problems+`usage-capped"}`) }, time.Hour, true, "cap"},
		"no credits":              {func(r *rig) http.Handler { return xapitest.CreditsUsedUp() }, 15 * time.Minute, true, "credits are used up (402)"},
		"connections": {func(r *rig) http.Handler {
			return says(429, `{"title":"ConnectionException","connection_issue":"TooManyConnections","type":"`+problems+`streaming-connection"}`, "x-rate-limit-remaining", "40", "x-rate-limit-reset", reset(r, time.Hour))
		}, 0, false, "too many connections"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, xapitest.Config{}, nil)
			r.Instead(row.answer(r))
			_, err := r.Timeline(context.Background(), fetcher.TimelineQuery{Username: "ann", UserID: "12"})
			var limit *fetcher.RateLimitError
			if !errors.As(err, &limit) {
				t.Fatalf("the error is %v: want a *fetcher.RateLimitError", err)
			}
			if limit.RetryAfter != row.wait || limit.All != row.all || limit.Target || !strings.Contains(limit.Reason, row.reason) || row.reason == "" && limit.Reason != "" {
				t.Errorf("%+v: want a wait of %s, All %t, a reason with %q", limit, row.wait, row.all, row.reason)
			}
		})
	}
}

// The endpoints have a bucket each; that of look-ups is of accounts without an id.
func TestBuckets(t *testing.T) {
	r := newRig(t, xapitest.Config{Limits: map[string]int{"/2/users/:id/tweets": 2}}, nil)
	r.AddAccount("ann")
	call := fetcher.Call{Role: fetcher.RoleTimeline, Account: fetcher.Account{Username: "Ann"}}
	unknown := r.Bucket(call)
	page := r.read(fetcher.TimelineQuery{Username: "ann"})
	if rl := page.RateLimit; !rl.Known || rl.Limit != 2 || rl.Remaining != 1 || rl.Reset.Before(r.clock().Add(14*time.Minute)) {
		t.Errorf("the limit is %+v, want that of timelines", rl)
	}
	known := r.Bucket(call)
	if search := r.Bucket(fetcher.Call{Role: fetcher.RoleSearch}); unknown == known || search == known || search == unknown {
		t.Errorf("buckets %q, %q and %q: want one of look-ups, one of timelines, one of searches", unknown, known, search)
	}
	call.Account = fetcher.Account{UserID: "12"}
	if b := r.Bucket(call); b != known {
		t.Errorf("the bucket of an account with an id is %q, want %q", b, known)
	}
	r.read(fetcher.TimelineQuery{Username: "ann"})
	var limit *fetcher.RateLimitError
	if _, err := r.Timeline(context.Background(), fetcher.TimelineQuery{Username: "ann"}); !errors.As(err, &limit) || limit.RetryAfter < 14*time.Minute {
		t.Errorf("the third call: %v, want a wait until the window ends", err)
	}
}

// The token is in no error, and not in what fmt prints.
func TestTokenIsSecret(t *testing.T) {
	r := newRig(t, xapitest.Config{Token: "s3cret"}, func(cfg *xapi.Config) { cfg.Token = "s3cret" })
	r.Instead(says(500, `{"detail":"Bearer s3cret is odd"}`))
	_, err := r.Timeline(context.Background(), fetcher.TimelineQuery{UserID: "12"})
	var status *fetcher.StatusError
	if !errors.As(err, &status) || status.Code != 500 {
		t.Errorf("the error is %v: want a *fetcher.StatusError", err)
	}
	if text := fmt.Sprintf("%v %+v %#v %v", err, r.Fetcher, r.Fetcher, *r.Fetcher); strings.Contains(text, "s3cret") {
		t.Errorf("the token is shown: %s", text)
	}
}

func TestConfigIsChecked(t *testing.T) {
	for want, change := range map[string]func(*xapi.Config){
		"xapi: Config.Token is missing: want the bearer token of an app":                                       func(c *xapi.Config) { c.Token = "" },
		`xapi: upstream: BaseURL "ftp://x" is not allowed: want http:// or https:// and a host`:                func(c *xapi.Config) { c.BaseURL = "ftp://x" },
		"xapi: Config.FirstPage 101 is not allowed: want 5 to 100 posts, or 0 for 5":                           func(c *xapi.Config) { c.FirstPage = 101 },
		"xapi: Config.AuditEvery 25h0m0s is not allowed: want more than 0 and at most 24h0m0s, or 0 for 15m0s": func(c *xapi.Config) { c.AuditEvery = 25 * time.Hour },
		"xapi: Config.QueryLength 5000 is not allowed: want 1 to 4096 characters, or 0 for 512":                func(c *xapi.Config) { c.QueryLength = 5000 },
		"xapi: Config.MaxRemembered -1 is not allowed: want at least 1, or 0 for 100000":                       func(c *xapi.Config) { c.MaxRemembered = -1 },
	} {
		cfg := xapi.Config{Token: "token"}
		change(&cfg)
		if _, err := xapi.New(cfg); err == nil || err.Error() != want {
			t.Errorf("New: %v, want %s", err, want)
		}
	}
}

// What X charges for is told beside an error as well: an account that was looked up, and
// posts beside a token that is none.
func TestBilledBesideAnError(t *testing.T) {
	r := newRig(t, xapitest.Config{}, nil)
	const found = `{"data":[{"id":"12","username":"ann"}]}`
	const odd = `{"data":[{"id":"1","text":"a"},{"id":"2","text":"b"}],"meta":{"result_count":2,"next_token":"a b&c"}}`
	answers := map[string]http.Handler{"/2/users/by": says(200, found), "/2/users/12/tweets": says(500, `{}`), "/2/tweets/search/recent": says(200, odd)}
	r.Instead(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) { answers[q.URL.Path].ServeHTTP(w, q) }))
	timeline := func() (fetcher.Page, error) {
		return r.Timeline(context.Background(), fetcher.TimelineQuery{Username: "ann"})
	}
	if page, err := timeline(); err == nil || page.Billed != (fetcher.Billed{Users: 1}) {
		t.Errorf("a timeline that fails after a look-up: billed %+v, %v; want an account and an error", page.Billed, err)
	}
	page, err := r.Search(context.Background(), fetcher.SearchQuery{Query: "go"})
	if err == nil || page.Billed != (fetcher.Billed{Posts: 2}) || len(page.Tweets) > 0 {
		t.Errorf("a search: billed %+v, %d posts, %v; want 2 posts billed and an error", page.Billed, len(page.Tweets), err)
	}
	answers["/2/users/12/tweets"] = says(200, strings.ReplaceAll(odd, `"1"`, `"3"`))
	if page, err = timeline(); err == nil || page.Billed != (fetcher.Billed{Posts: 1}) || len(page.Tweets) > 0 {
		t.Errorf("a timeline: billed %+v, %d posts, %v; want 1 more post billed and an error", page.Billed, len(page.Tweets), err)
	}
}
