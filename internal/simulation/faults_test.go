package simulation

import (
	"fmt"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch"
	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/deliver/webhook"
	"github.com/streamwatch/streamwatch/enginetest"
	"github.com/streamwatch/streamwatch/enginetest/check"
	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/fetcher/mastodon"
	"github.com/streamwatch/streamwatch/internal/testsize"
	"github.com/streamwatch/streamwatch/monitor"
)

// A platform that fails and shows posts late, a receiver that fails: nothing is
// lost, nothing is detected twice, every body is the same on every attempt and
// every signature right.
func TestNothingIsLostUnderFaults(t *testing.T) {
	const lasts = 10 // seconds
	accounts := testsize.Of(150, 300, 1000)
	perSecond := accounts / 5
	for _, row := range []struct {
		name   string
		source func(*testing.T, *enginetest.Platform) fetcher.Fetcher
	}{
		{"in process", func(_ *testing.T, p *enginetest.Platform) fetcher.Fetcher { return p }},
		{"over HTTP", func(t *testing.T, p *enginetest.Platform) fetcher.Fetcher {
			f, err := mastodon.New(mastodon.Config{BaseURL: "https://social.example.com", HTTP: &http.Client{Transport: p.RoundTripper()}})
			if err != nil {
				t.Fatal(err)
			}
			return f
		}},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := enginetest.NewPlatform(enginetest.PlatformConfig{
					Seed: 7, Accounts: enginetest.AccountNames(accounts),
					LateShare: 0.2, LateUpTo: 5 * time.Second, Latency: 30 * time.Millisecond,
					Faults: enginetest.Faults{ServerError: 0.02, Truncated: 0.02, HTML: 0.002, NullFields: 0.01, WrongAuthor: 0.01, RateLimited: 0.6 / float64(accounts)},
				})
				key := deliver.GenerateSecret()
				r := enginetest.NewReceiver(enginetest.ReceiverConfig{Secret: key, Answer: enginetest.FailFirst(0.1, 7)})
				cfg := streamwatch.Config{
					Fetcher: row.source(t, p), Quotas: streamwatch.Quotas{MonitorAccounts: accounts / 10},
					Webhook: webhook.Config{Transport: r.RoundTripper()},
				}
				cfg.Detect.FetchSlots = 256
				e := newEngine(t, cfg)
				if err := e.Start(t.Context()); err != nil {
					t.Fatal(err)
				}
				var watches []check.Watch
				names := enginetest.AccountNames(accounts)
				for i := 0; i < accounts; i += accounts / 10 {
					group := names[i : i+accounts/10]
					m := create(t, e, monitor.CreateRequest{Name: fmt.Sprint("m", i), Usernames: group,
						PollInterval: 2 * time.Second, WebhookURL: "https://hooks.example.com/x", WebhookSecret: key})
					watches = append(watches, check.Watch{MonitorID: m.ID, Accounts: group, Since: m.CreatedAt})
				}
				if err := p.Run(t.Context(), enginetest.PostRate{PerSecond: float64(perSecond), Total: perSecond * lasts}); err != nil {
					t.Fatal(err)
				}
				pass(20 * time.Second) // late posts, backed-off accounts, retries
				if err := e.Shutdown(t.Context()); err != nil {
					t.Error(err)
				}
				report := check.Check(p.Posted(), watches, r.Deliveries())
				if err := report.Err(); err != nil {
					t.Error(err)
				}
				if report.Posted != perSecond*lasts || report.Verified != report.Posted {
					t.Errorf("%d posted, %d verified: want %d of both", report.Posted, report.Verified, perSecond*lasts)
				}
				s, rs, ps := e.Stats(), r.Stats(), p.Stats()
				if s.Detect.Events != int64(perSecond*lasts) || s.Detect.Known != 0 {
					t.Errorf("%d events, %d of them found twice: want %d and none", s.Detect.Events, s.Detect.Known, perSecond*lasts)
				}
				if rs.Unverified != 0 || rs.BodyChanged != 0 || rs.Duplicates != 0 {
					t.Errorf("receiver: %+v", rs)
				}
				// The faults must really have happened.
				if ps.ServerError == 0 || ps.Truncated == 0 || ps.NullFields == 0 || ps.WrongAuthor == 0 || ps.RateLimited == 0 ||
					s.Detect.Late == 0 || s.Deliver.Retried < int64(perSecond*lasts/40) {
					t.Errorf("too quiet a run: %+v, %d late, %d retried", ps, s.Detect.Late, s.Deliver.Retried)
				}
			})
		})
	}
}
