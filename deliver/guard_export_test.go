package deliver

import (
	"crypto/tls"
	"crypto/x509"

	"github.com/streamwatch/streamwatch/internal/netguard"
)

// NewWebhookOn is NewWebhook with another guard, and with the authorities that
// its TLS trusts.
func NewWebhookOn(cfg WebhookConfig, g *netguard.Guard, roots *x509.CertPool) *Webhook {
	w := MustWebhook(cfg)
	g.AllowPrivate, g.AllowNets = cfg.AllowPrivate, cfg.AllowNets
	w.own = newClient(g)
	w.own.tls.RootCAs = roots
	return w
}

// TLSConfig is what the sender's own connections use.
func (w *Webhook) TLSConfig() *tls.Config { return w.own.tls }

// Names for tests of what has none outside.
var (
	ParseRetryAfter = parseRetryAfter
)

// MustWebhook is NewWebhook for configurations that are known to be right.
func MustWebhook(cfg WebhookConfig) *Webhook {
	w, err := NewWebhook(cfg)
	if err != nil {
		panic(err)
	}
	return w
}
