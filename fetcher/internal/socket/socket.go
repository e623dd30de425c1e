package socket

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"

	"github.com/streamwatch/streamwatch/fetcher/upstream"
	"github.com/streamwatch/streamwatch/secret"
)

// Config sets up Read.
type Config struct {
	// URL is the address, ws:// or wss://. Required.
	URL string
	// HTTP makes the handshake. Defaults to http.DefaultClient. Its Timeout must be 0, because
	// a timeout would end the connection. If Token is set, redirects to another host are not
	// followed.
	HTTP *http.Client
	// Header is sent with the handshake.
	Header http.Header
	// Token is the secret in Header or URL. Errors that quote the server have *** in its place.
	Token secret.Value
	// MaxMessage is the largest allowed message, in bytes. Defaults to 2 MiB.
	MaxMessage int64
	// PingEvery is the time between two pings. If the server does not answer a ping within that
	// time, Read returns ErrSilent. Defaults to 20 s.
	PingEvery time.Duration
	// Now is the clock for Retry-After. Defaults to time.Now.
	Now func() time.Time

	// Opened is called when the server has accepted the connection. Any goroutine may use send
	// from then until Read returns.
	Opened func(send Send) error
	// Message is called for each text message or, if Binary is set, for each binary message.
	// Messages of the other kind are ignored. Message may keep b. Required.
	Message func(b []byte) error
	Binary  bool
	// Alive is called for each ping and pong of the server.
	Alive func() error
}

// Send writes a text message.
type Send func(ctx context.Context, b []byte) error

// ErrSilent means that the server did not answer a ping.
var ErrSilent = errors.New("socket: the server does not answer")

// Base returns the scheme and host of server, with ws in place of http, or wss in place of https.
func Base(server string) string {
	u, err := url.Parse(server) // makes the scheme lower case
	if err != nil {
		return ""
	}
	return "ws" + strings.TrimPrefix(u.Scheme, "http") + "://" + u.Host
}

// handshakeTimeout limits the time of the handshake and of each write.
const handshakeTimeout = 30 * time.Second

// Read connects and reads until ctx ends, the connection breaks, or one of the functions of cfg
// returns an error. Read returns that error unchanged. It calls these functions one at a time.
// If the server refuses the handshake, the error is that of upstream.AnswerError. If the server
// closes the connection, it is a websocket.CloseError.
func Read(ctx context.Context, cfg Config) error {
	r := &reader{cfg: cfg}
	if r.cfg.MaxMessage == 0 {
		r.cfg.MaxMessage = 2 << 20
	}
	if r.cfg.PingEvery == 0 {
		r.cfg.PingEvery = 20 * time.Second
	}
	if r.cfg.Token != "" {
		r.cfg.HTTP = upstream.KeepHome(cmp.Or(r.cfg.HTTP, http.DefaultClient))
	}
	if r.cfg.Now == nil {
		r.cfg.Now = time.Now
	}
	if r.cfg.Alive == nil {
		r.cfg.Alive = func() error { return nil }
	}
	err := r.run(ctx)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}

// reader is one connection. The functions of cfg run on the goroutine of Read.
type reader struct {
	cfg Config
	ws  *websocket.Conn
	cut context.CancelCauseFunc // ends reading
	err error                   // returned by Alive, which is called during a read

	handling atomic.Bool   // a message is being handled, and nothing is read
	handled  atomic.Uint64 // messages
}

func (r *reader) run(ctx context.Context) error {
	ctx, r.cut = context.WithCancelCause(ctx)
	defer r.cut(nil)
	if err := r.dial(ctx); err != nil {
		return err
	}
	defer r.ws.CloseNow()
	if r.cfg.Opened != nil {
		if err := r.cfg.Opened(r.send); err != nil {
			return err
		}
	}
	pinging := make(chan struct{})
	go func() {
		defer close(pinging)
		r.ping(ctx)
	}()
	err := r.read(ctx)
	r.cut(nil)
	<-pinging
	return err
}

func (r *reader) dial(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, handshakeTimeout)
	defer cancel()
	alive := func(context.Context) {
		if r.err != nil {
			return
		}
		if r.err = r.cfg.Alive(); r.err != nil {
			r.cut(nil)
		}
	}
	ws, resp, err := websocket.Dial(ctx, r.cfg.URL, &websocket.DialOptions{
		HTTPClient:     r.cfg.HTTP,
		HTTPHeader:     r.cfg.Header,
		OnPingReceived: func(ctx context.Context, _ []byte) bool { alive(ctx); return true },
		OnPongReceived: func(ctx context.Context, _ []byte) { alive(ctx) },
	})
	switch {
	case err == nil:
		r.ws = ws
		ws.SetReadLimit(r.cfg.MaxMessage)
		return nil
	case resp != nil && resp.StatusCode != http.StatusSwitchingProtocols && resp.Body != nil:
		return upstream.AnswerError(resp, r.cfg.Now(), r.cfg.Token)
	}
	// The address may hold the token.
	text := err.Error()
	if r.cfg.Token != "" {
		text = strings.ReplaceAll(text, string(r.cfg.Token), secret.Redacted)
	}
	return fmt.Errorf("socket: %s", text)
}

func (r *reader) send(ctx context.Context, b []byte) error {
	ctx, cancel := context.WithTimeout(ctx, handshakeTimeout)
	defer cancel()
	return r.ws.Write(ctx, websocket.MessageText, b)
}

func (r *reader) read(ctx context.Context) error {
	wanted := websocket.MessageText
	if r.cfg.Binary {
		wanted = websocket.MessageBinary
	}
	for {
		kind, b, err := r.ws.Read(ctx)
		switch {
		case r.err != nil:
			return r.err
		case err != nil && context.Cause(ctx) == ErrSilent && websocket.CloseStatus(err) == -1:
			return ErrSilent
		case err != nil:
			return fmt.Errorf("socket: %w", err)
		case kind != wanted:
			continue
		}
		r.handling.Store(true)
		err = r.cfg.Message(b)
		r.handled.Add(1)
		r.handling.Store(false)
		if err != nil {
			return err
		}
	}
}

// ping sends pings, to detect that the server is gone.
func (r *reader) ping(ctx context.Context) {
	tick := time.NewTicker(r.cfg.PingEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		wait, cancel := context.WithTimeout(ctx, r.cfg.PingEvery)
		before := r.handled.Load()
		err := r.ws.Ping(wait)
		cancel()
		// While a message is being handled, a pong cannot be read, so its absence means nothing.
		if err != nil && !r.handling.Load() && r.handled.Load() == before {
			r.cut(ErrSilent)
			return
		}
	}
}
