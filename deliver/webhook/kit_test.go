package webhook_test

import (
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/deliver/webhook"
	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/internal/netguard"
)

const (
	secret = deliver.Secret("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLASw")
	body   = `{"event":"tweet.detected"}`
	// Of body by secret.
	signature = "sha256=87332c9fe0d198b935feb7b6db9495b574e1cf9d13c89ba2da664914441e2ffd"
)

var (
	published = time.Date(2026, 7, 24, 21, 5, 48, 792e6, time.UTC)
	detected  = published.Add(1234*time.Millisecond + 999*time.Microsecond)
)

// sample is a post found by a monitor, from a platform that sends no author
// record along.
func sample() (*deliver.Event, *fetcher.Tweet) {
	t := &fetcher.Tweet{
		ID: "2080761390344937796", Text: "cut…", FullText: "in full: <b>\"é\" & 🧵</b>",
		UserID: "42", Username: "nasa", UserName: "NASA", PublishedAt: published,
	}
	e := &deliver.Event{
		ID: "evt_1", Source: deliver.Source{Kind: deliver.SourceMonitor, ID: "mon_1", Owner: "me", Name: "space"},
		TweetID: t.ID, AuthorUsername: "nasa", TweetURL: "https://x.com/nasa/status/2080761390344937796",
		PublishedAt: published, DetectedAt: detected, Latency: detected.Sub(published),
	}
	return e, t
}

// edited is the sample's body after a change.
func edited(change func(*deliver.Event, *fetcher.Tweet)) []byte {
	e, t := sample()
	if change != nil {
		change(e, t)
	}
	return deliver.AppendBody(nil, e, t)
}

// newSender makes a sender that connects by g and trusts roots.
type newSender func(cfg webhook.Config, g *netguard.Guard, roots *x509.CertPool) *webhook.Sender

// eachClient runs a test over the sender's own client, and over net/http's with the
// guard, as a program that brings its own Transport has it.
func eachClient(t *testing.T, test func(t *testing.T, own bool, sender newSender)) {
	t.Run("own client", func(t *testing.T) { test(t, true, webhook.NewOn) })
	t.Run("net/http", func(t *testing.T) {
		test(t, false, func(cfg webhook.Config, g *netguard.Guard, roots *x509.CertPool) *webhook.Sender {
			g.AllowPrivate, g.AllowNets = cfg.AllowPrivate, cfg.AllowNets
			rt := &http.Transport{DialContext: g.DialContext, TLSClientConfig: &tls.Config{RootCAs: roots}, MaxResponseHeaderBytes: 16 << 10,
				IdleConnTimeout: time.Minute, DisableCompression: true}
			cfg.Transport = rt
			return webhook.Closing(webhook.Must(cfg), rt)
		})
	})
}
