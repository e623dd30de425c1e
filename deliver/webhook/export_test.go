package webhook

import (
	"crypto/tls"
	"crypto/x509"

	"github.com/streamwatch/streamwatch/internal/netguard"
)

// NewWebhookOn is NewWebhook with another guard, and with the authorities that
// its TLS trusts.
func NewOn(cfg Config, g *netguard.Guard, roots *x509.CertPool) *Sender {
	w := Must(cfg)
	g.AllowPrivate, g.AllowNets = cfg.AllowPrivate, cfg.AllowNets
	w.own = newClient(g)
	w.own.tls.RootCAs = roots
	return w
}

// TLSConfig is what the sender's own connections use.
func (w *Sender) TLSConfig() *tls.Config { return w.own.tls }

// Names for tests of what has none outside.
var (
	ParseRetryAfter = parseRetryAfter
)

// MustWebhook is NewWebhook for configurations that are known to be right.
func Must(cfg Config) *Sender {
	w, err := New(cfg)
	if err != nil {
		panic(err)
	}
	return w
}
