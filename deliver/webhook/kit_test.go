package webhook_test

import (
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/deliver/webhook"
	"github.com/streamwatch/streamwatch/internal/netguard"
)

const (
	secret = deliver.Secret("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLASw")
	body   = `{"event":"tweet.detected"}`
	// Of body by secret.
	signature = "sha256=87332c9fe0d198b935feb7b6db9495b574e1cf9d13c89ba2da664914441e2ffd"
)

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
