package latencybench

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/streamwatch/streamwatch/cmd/streamwatch/internal/latencybench/fakeserver"
	"github.com/streamwatch/streamwatch/cmd/streamwatch/internal/latencybench/poster"
	"github.com/streamwatch/streamwatch/cmd/streamwatch/internal/latencybench/receipt"
	"github.com/streamwatch/streamwatch/cmd/streamwatch/internal/latencybench/report"
	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/secret"
)

// measurement is a run and what it has opened.
type measurement struct {
	o      options
	env    Env
	self   program
	logs   io.Writer
	closes []func() error // to be called in reverse order
	book   *book
	poster poster.Poster

	platformURL, webhookURL string
	signing                 secret.Value
}

// measure runs a benchmark and writes what came of it.
func measure(ctx context.Context, o options, env Env, self program, out, logs io.Writer) (err error) {
	key, err := signingKey(o.out.key)
	if err != nil {
		return usageErr(err)
	}
	m := &measurement{o: o, env: env, self: self, logs: logs, book: newBook()}
	defer func() { err = errors.Join(err, m.close()) }()
	if err := m.openPoster(ctx); err != nil {
		return err
	}
	limits := m.poster.Limits()
	if o.plan.posts > limits.Posts || o.on.delete && o.plan.posts > limits.Deleted {
		return usageErr(fmt.Errorf("-posts %d is not allowed there: want at most %d, and %d with -delete", o.plan.posts, limits.Posts, limits.Deleted))
	}
	due, err := o.plan.schedule(limits)
	if err != nil {
		return usageErr(err)
	}
	if last := due[len(due)-1].at; last < o.warmup {
		return usageErr(fmt.Errorf("-warmup %s is not allowed: the last of %d posts is due after %s, and none would be scored: want less, or more of -posts and -for", o.warmup, len(due), last.Round(time.Millisecond)))
	}
	if err := m.openReceivers(ctx); err != nil {
		return err
	}
	if err := o.out.try(); err != nil {
		return usageErr(err)
	}
	rec := &receipt.Record{Run: receipt.Run{Started: m.book.start.Round(0), Wait: o.wait, Channels: m.channels(), Settings: o.settings, Environment: environment()}}
	for name, value := range load() {
		rec.Run.Environment[name] = value
	}
	m.note("%d posts in %s, then up to %s of waiting", len(due), due[len(due)-1].at.Round(time.Second), o.wait)
	pause(ctx, o.after)
	var failures sync.Once
	r := &runner{book: m.book, poster: m.poster, due: due, wait: o.wait, failed: func(err error) {
		failures.Do(func() { m.note("a post was not published, the first of perhaps several: %v", err) })
	}}
	r.stopped = func() { m.note("no more posts; %s for those that were made. Ctrl-C again quits at once", o.wait) }
	base, posts := r.run(ctx)
	rec.Run.Warmup, rec.Posts = base+o.warmup, posts
	rec.Arrivals, rec.Finish = m.book.close()
	rec.Finish.Environment = load()
	err = m.close()
	if o.on.delete {
		if left, last := r.remove(posts, time.Hour); left > 0 {
			err = errors.Join(err, fmt.Errorf("%d posts were not deleted: %w", left, last))
		}
	}
	return errors.Join(err, m.write(rec, key, out))
}

func (m *measurement) note(format string, args ...any) { fmt.Fprintf(m.logs, format+"\n", args...) }

// openPoster opens the poster, and serves the fake platform if posts are made there.
func (m *measurement) openPoster(ctx context.Context) (err error) {
	on := &m.o.on
	value := func(name string) string { v, _ := m.env(name); return v }
	switch on.kind {
	case "mastodon":
		m.poster, err = poster.NewMastodon(ctx, poster.MastodonConfig{Server: on.server, Token: secret.Value(value(mastodonVariable)), Visibility: on.visibility})
	case "bluesky":
		m.poster, err = poster.NewBluesky(ctx, poster.BlueskyConfig{Server: on.server, Handle: value(handleVariable), Password: secret.Value(value(passwordVariable))})
	case "command":
		m.poster, err = poster.NewCommand(on.command, on.gap)
	default:
		platform := fakeserver.New(m.o.plan.accounts, m.o.plan.seed)
		if m.platformURL, err = m.serve("listen", on.listen, platform); err != nil {
			return err
		}
		m.closes = append(m.closes, func() error { platform.Close(); return nil })
		m.poster = poster.Fake{Server: platform}
		accounts := platform.Accounts()
		m.note("platform %s: %s to %s", m.platformURL, accounts[0], accounts[len(accounts)-1])
	}
	return err
}

// openReceivers opens the receivers of posts, and starts the detector of -detector self.
func (m *measurement) openReceivers(ctx context.Context) error {
	signing, _ := m.env(secretVariable)
	m.signing = secret.Value(signing)
	if m.o.self.on && m.signing == "" {
		m.signing = deliver.GenerateSecret()
	}
	if m.o.in.webhook != "off" {
		var err error
		h := &webhook{book: m.book, scheme: m.o.in.scheme, key: func() secret.Value { return m.signing }}
		if m.webhookURL, err = m.serve("webhook", m.o.in.webhook, h); err != nil {
			return err
		}
		m.webhookURL += "/"
		m.note("webhook receiver %s", m.webhookURL)
		if m.signing == "" {
			m.note("%s is not set: signatures are not checked", secretVariable)
		}
	}
	address := m.o.in.websocket
	header, err := m.o.in.headers.expand(m.env)
	if err != nil {
		return usageErr(err)
	}
	if m.o.self.on {
		key := deliver.GenerateSecret()
		d, err := startSelf(ctx, m.o.self, m.self, m.o.plan.accounts, m.platformURL, m.webhookURL, m.signing, key, m.logs)
		if err != nil {
			return err
		}
		m.closes = append(m.closes, d.stop)
		if address == "self" {
			address = d.websocket
			header.Set("x-api-key", string(key))
		}
	}
	if address == "" {
		return nil
	}
	s := &socket{book: m.book, url: address, header: header, hello: m.o.in.hello, note: m.note}
	ws, err := s.connect(ctx)
	if err != nil {
		return err
	}
	reading, stop := context.WithCancel(context.WithoutCancel(ctx))
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.watch(reading, ws)
	}()
	m.closes = append(m.closes, func() error { stop(); <-done; return nil })
	return nil
}

// channels are those by which posts can arrive.
func (m *measurement) channels() []string {
	var list []string
	if m.o.in.webhook != "off" {
		list = append(list, channelWebhook)
	}
	if m.o.in.websocket != "" {
		list = append(list, channelWebSocket)
	}
	return list
}

// serve serves HTTP at the address that a flag has, until close.
func (m *measurement) serve(name, address string, h http.Handler) (url string, err error) {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return "", usageErr(fmt.Errorf("-%s %q is not allowed: %w", name, address, err))
	}
	server := newServer(h)
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = server.Serve(listener) // ends with ErrServerClosed
	}()
	m.closes = append(m.closes, func() error { err := server.Close(); <-done; return err })
	return "http://" + listener.Addr().String(), nil
}

// close closes what was opened, once.
func (m *measurement) close() error {
	var errs []error
	for i := len(m.closes) - 1; i >= 0; i-- {
		errs = append(errs, m.closes[i]())
	}
	m.closes = nil
	return errors.Join(errs...)
}

// write writes the record and what follows from it.
func (m *measurement) write(rec *receipt.Record, key ed25519.PrivateKey, out io.Writer) error {
	rec.Run.PublicKey = key.Public().(ed25519.PublicKey)
	r := report.Of(rec)
	var errs []error
	for _, f := range []struct {
		path  string
		write func(io.Writer) error
	}{
		{m.o.out.receipts, func(w io.Writer) error { return receipt.Write(w, rec, key) }},
		{m.o.out.json, r.WriteJSON},
		{m.o.out.svg, func(w io.Writer) error { return r.WriteSVG(w, m.o.out.title) }},
	} {
		if f.path != "" {
			errs = append(errs, writeFile(f.path, f.write))
		}
	}
	return errors.Join(append(errs, r.WriteText(out))...)
}
