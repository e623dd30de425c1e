package webhook

import (
	"crypto/tls"
	"crypto/x509"
	"net/http"

	"github.com/streamwatch/streamwatch/internal/netguard"
)

// NewOn is New with another guard, and with the authorities that
// its TLS trusts.
func NewOn(cfg Config, g *netguard.Guard, roots *x509.CertPool) *Sender {
	w := Must(cfg)
	g.AllowPrivate, g.AllowNets = cfg.AllowPrivate, cfg.AllowNets
	own := newClient(g)
	own.tls.RootCAs = roots
	w.http, w.closeIdle = own, own.closeIdle
	return w
}

// TLSConfig is what the sender's connections use.
func (w *Sender) TLSConfig() *tls.Config {
	if own, ok := w.http.(*client); ok {
		return own.tls
	}
	return w.cfg.Transport.(*http.Transport).TLSClientConfig
}

// Closing has a sender's Close close the idle connections of its transport, too.
func Closing(w *Sender, rt *http.Transport) *Sender {
	w.closeIdle = rt.CloseIdleConnections
	return w
}

// ParseRetryAfter is for tests of it alone.
var ParseRetryAfter = parseRetryAfter

// Must is New for configurations that are known to be right.
func Must(cfg Config) *Sender {
	w, err := New(cfg)
	if err != nil {
		panic(err)
	}
	return w
}
