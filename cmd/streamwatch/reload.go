package main

import (
	"crypto/tls"
	"fmt"
	"log/slog"
	"reflect"
	"strings"
	"sync/atomic"

	"github.com/streamwatch/streamwatch"
	"github.com/streamwatch/streamwatch/enginehttp"
)

// reloader applies what of a changed configuration needs no restart: the certificate and the limits.
type reloader struct {
	config      // as it runs
	read        func() (config, error)
	engine      *streamwatch.Engine
	connections *enginehttp.Connections
	log         *slog.Logger

	cert atomic.Pointer[tls.Certificate]
}

// certificate is GetCertificate of a tls.Config.
func (r *reloader) certificate(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	return r.cert.Load(), nil
}

// certify uses the certificate of a configuration from now on. It does nothing if there is none.
func (r *reloader) certify(c config) error {
	if c.TLSCert == "" {
		return nil
	}
	cert, err := tls.LoadX509KeyPair(c.TLSCert, c.TLSKey)
	if err != nil {
		return fmt.Errorf("%s and tls-key are not allowed: %w", c.from.called("tls-cert"), err)
	}
	r.cert.Store(&cert)
	return nil
}

// reload applies the configuration as it is now. If a value is not allowed, it changes nothing.
func (r *reloader) reload() {
	next, err := r.read()
	if err == nil {
		err = r.certify(next)
	}
	if err == nil {
		err = r.engine.SetQuotas(next.Limits.quotas())
	}
	if err != nil {
		r.log.Error("configuration not reloaded: what was read before stays", "error", err)
		return
	}
	r.connections.SetMost(next.Connections)
	if tlsAsBefore := (r.TLSCert == "") == (next.TLSCert == ""); tlsAsBefore {
		r.TLSCert, r.TLSKey = next.TLSCert, next.TLSKey
	}
	r.Limits, r.Connections = next.Limits, next.Connections
	r.log.Info("configuration reloaded", "limits", fmt.Sprintf("%+v", r.Limits), "connections", r.Connections)
	if keys := different(r.config, next); len(keys) > 0 {
		r.log.Warn("configuration changed where a restart is needed", "keys", strings.Join(keys, ", "))
	}
}

// different returns the keys that have another value.
func different(a, b config) (keys []string) {
	x, y := reflect.ValueOf(a), reflect.ValueOf(b)
	for i := range x.NumField() {
		if key := x.Type().Field(i).Tag.Get("yaml"); key != "" && !reflect.DeepEqual(x.Field(i).Interface(), y.Field(i).Interface()) {
			keys = append(keys, key)
		}
	}
	return keys
}
