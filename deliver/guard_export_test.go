package deliver

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net"
	"net/netip"
)

// SetNet replaces a guard's name look-up and its connecting; nil keeps one.
func (g *Guard) SetNet(
	lookup func(ctx context.Context, host string) ([]netip.Addr, error),
	dial func(ctx context.Context, network, address string) (net.Conn, error),
) {
	g.lookup, g.dial = lookup, dial
}

// Dialer is what a guard connects with.
func (g *Guard) Dialer() *net.Dialer { return g.dialer() }

// NewWebhookOn is NewWebhook with another guard, and with the authorities that
// its TLS trusts.
func NewWebhookOn(cfg WebhookConfig, g *Guard, roots *x509.CertPool) *Webhook {
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
	RedactURL       = redactURL
)

// MustWebhook is NewWebhook for configurations that are known to be right.
func MustWebhook(cfg WebhookConfig) *Webhook {
	w, err := NewWebhook(cfg)
	if err != nil {
		panic(err)
	}
	return w
}
