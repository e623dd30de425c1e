package latencybench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/streamwatch/streamwatch/cmd/streamwatch/internal/latencybench/fakeserver"
	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/internal/command"
	"github.com/streamwatch/streamwatch/secret"
)

// measurement is a run and what it has opened.
type measurement struct {
	o       options
	env     Env
	program string // the path of streamwatch
	logs    io.Writer
	closes  []func() error // to be called in reverse order
	book    *book
	poster  poster

	platformURL, webhookURL string
	signing                 secret.Value
}

// measure runs a benchmark and writes what came of it.
func measure(ctx context.Context, o options, env Env, program string, out, logs io.Writer) (err error) {
	m := &measurement{o: o, env: env, program: program, logs: logs, book: newBook()}
	defer func() { err = errors.Join(err, m.close()) }()
	if err := m.openPoster(); err != nil {
		return err
	}
	limits := m.poster.Limits()
	if o.plan.posts > limits.posts {
		return command.Usage(fmt.Errorf("-posts %d is not allowed there: want at most %d", o.plan.posts, limits.posts))
	}
	due, err := o.plan.schedule(limits.gap)
	if err != nil {
		return command.Usage(err)
	}
	if last := due[len(due)-1].at; last < o.warmup {
		return command.Usage(fmt.Errorf("-warmup %s is not allowed: the last of %d posts is due after %s, and none would be scored: want less, or more of -posts and -for", o.warmup, len(due), last.Round(time.Millisecond)))
	}
	if err := m.openReceivers(ctx); err != nil {
		return err
	}
	rec := &record{wait: o.wait, channels: m.channels()}
	m.note("%d posts in %s, then up to %s of waiting", len(due), due[len(due)-1].at.Round(time.Second), o.wait)
	pause(ctx, o.after)
	var failures sync.Once
	r := &runner{book: m.book, poster: m.poster, due: due, wait: o.wait, failed: func(err error) {
		failures.Do(func() { m.note("a post was not published, the first of perhaps several: %v", err) })
	}}
	r.stopped = func() { m.note("no more posts; %s for those that were made. Ctrl-C again quits at once", o.wait) }
	stop := command.Progress(m.logs, func() string { return fmt.Sprintf("%d posts are due, %d arrivals", len(due), m.book.count()) })
	base, posts := r.run(ctx)
	stop()
	rec.warmup, rec.posts = base+o.warmup, posts
	m.book.close(rec)
	err = m.close()
	return errors.Join(err, reportOf(rec).write(out))
}

func (m *measurement) note(format string, args ...any) { fmt.Fprintf(m.logs, format+"\n", args...) }

// openPoster opens the poster. If posts are made on the fake platform, it also serves the platform.
func (m *measurement) openPoster() (err error) {
	if m.o.command != "" {
		m.poster = &shell{m.o.command, m.o.gap}
		return nil
	}
	platform := fakeserver.New(m.o.plan.accounts, m.o.plan.seed)
	if m.platformURL, err = m.serve("listen", m.o.listen, platform); err != nil {
		return err
	}
	m.closes = append(m.closes, func() error { platform.Close(); return nil })
	m.poster = fake{platform}
	accounts := platform.Accounts()
	m.note("platform %s: %s to %s", m.platformURL, accounts[0], accounts[len(accounts)-1])
	return nil
}

// openReceivers opens the receivers of posts, and starts the detector of -detector self.
func (m *measurement) openReceivers(ctx context.Context) error {
	signing, _ := m.env(secretVariable)
	m.signing = secret.Value(signing)
	if m.o.self.on && m.signing == "" {
		m.signing = deliver.GenerateSecret()
	}
	if m.o.webhook != "off" {
		var err error
		h := &webhookHandler{book: m.book, key: m.signing}
		if m.webhookURL, err = m.serve("webhook", m.o.webhook, h); err != nil {
			return err
		}
		m.webhookURL += "/"
		m.note("webhook receiver %s", m.webhookURL)
		if m.signing == "" {
			m.note("%s is not set: signatures are not checked", secretVariable)
		}
	}
	address := m.o.websocket
	header, err := m.o.headers.expand(m.env)
	if err != nil {
		return command.Usage(err)
	}
	if m.o.self.on {
		d, err := startSelf(ctx, m.o.self, m.program, m.o.plan.accounts, m.platformURL, m.webhookURL, m.signing, m.logs)
		if err != nil {
			return err
		}
		m.closes = append(m.closes, d.stop)
		if address == "self" {
			address = strings.Replace(d.services[0].url, "http", "ws", 1) + "/v1/social/stream"
			header.Set("x-api-key", d.key)
		}
	}
	if address == "" {
		return nil
	}
	s := &socket{book: m.book, url: address, header: header, note: m.note}
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
	if m.o.webhook != "off" {
		list = append(list, channelWebhook)
	}
	if m.o.websocket != "" {
		list = append(list, channelWebSocket)
	}
	return list
}

// serve serves HTTP at the address of the flag name, until close.
func (m *measurement) serve(name, address string, h http.Handler) (url string, err error) {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return "", command.Usage(fmt.Errorf("-%s %q is not allowed: %w", name, address, err))
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
