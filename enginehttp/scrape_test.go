package enginehttp_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/fetcher"
)

// A client is told what is wrong with the page that it asked for. It is not charged,
// and the log has no error or warning.
func TestPageFailures(t *testing.T) {
	for name, row := range map[string]struct {
		err    fetcher.PageError
		status int
		retry  string
	}{
		"not found":    {fetcher.PageError{Reason: "the page answered 404 Not Found", Err: fetcher.ErrNotFound}, 404, ""},
		"forbidden":    {fetcher.PageError{Reason: "the page answered 403 Forbidden", Err: fetcher.ErrProtected}, 404, ""},
		"unauthorized": {fetcher.PageError{Reason: "the page answered 401 Unauthorized", Err: fetcher.ErrUnauthorized}, 502, ""},
		"its fault":    {fetcher.PageError{Reason: "the page answered 503 Service Unavailable", Err: &fetcher.StatusError{Code: 503}}, 502, ""},
		"its limit":    {fetcher.PageError{Reason: "the page answered 429 Too Many Requests", Err: &fetcher.RateLimitError{RetryAfter: 7 * time.Second}}, 502, "7"},
		"an image":     {fetcher.PageError{Reason: `the page has the content type "image/png": want text/html`, Refused: true, Err: fetcher.ErrMalformed}, 422, ""},
		"slow":         {fetcher.PageError{Reason: "the page did not answer in time", Err: context.DeadlineExceeded}, 502, ""},
		"no host":      {fetcher.PageError{Reason: "no such host", Err: fetcher.ErrNotFound}, 404, ""},
		"closed":       {fetcher.PageError{Reason: "connection refused"}, 502, ""},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			p := &providers{err: fmt.Errorf("webscrape: example.com: %w", &row.err)}
			w := newWorld(t, func(s *setup) {
				s.options.Providers, s.options.Logger = p.all(), slog.New(slog.NewJSONHandler(&out, nil))
			})
			a := w.do(mine, "POST", "/v1/web/scrape", `{"url":"https://example.com/"}`)
			if a.status != row.status || a.decode(t)["error"] != row.err.Reason || a.header.Get("Retry-After") != row.retry {
				t.Errorf("%d %v %s, want %d %q", a.status, a.header, a.body, row.status, row.err.Reason)
			}
			if spent, _ := w.spent(mine); spent != 0 {
				t.Errorf("charged %d", spent)
			}
			if log := out.String(); strings.Contains(log, "ERROR") || strings.Contains(log, "WARN") || !strings.Contains(log, fmt.Sprintf(`"status":%d`, row.status)) {
				t.Errorf("log %s", log)
			}
		})
	}
}
