package pgtest

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Proxy is a PgBouncer in front of a server. Call its methods on the test's goroutine, except URL and
// Of, which may be called on any.
type Proxy struct {
	t       testing.TB
	home    *homeDir
	program string
	server  *Server
	dir     string
	port    int
	process process
}

// Bouncer starts a PgBouncer that gives its clients a connection for each transaction, out of at most
// 20 for each database. config adds lines of configuration, for example "default_pool_size = 2". In
// Debian it is the package pgbouncer.
func Bouncer(t testing.TB, server *Server, config ...string) *Proxy {
	t.Helper()
	need(t, "pgbouncer")
	b := &Proxy{t: t, home: server.i.home, server: server}
	if err := b.prepare(config); err != nil {
		t.Fatalf("pgtest: %v", err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the end of the log of the bouncer %s:\n%s", b.addr(), lastLines(b.logFile(), 40))
		}
		if err := errors.Join(b.process.kill(), os.RemoveAll(b.dir)); err != nil {
			t.Errorf("pgtest: the bouncer %s: %v", b.addr(), err)
		}
	})
	b.Start()
	return b
}

func (b *Proxy) prepare(config []string) (err error) {
	if b.program, err = find("pgbouncer"); err != nil {
		return err
	}
	if b.port, err = freePort(); err != nil {
		return err
	}
	if b.dir, err = os.MkdirTemp(b.home.dir, "bouncer"); err != nil {
		return err
	}
	lines := append([]string{
		"[databases]", fmt.Sprintf("* = host=127.0.0.1 port=%d", b.server.i.port),
		"[pgbouncer]", "listen_addr = 127.0.0.1", fmt.Sprintf("listen_port = %d", b.port), "unix_socket_dir =",
		"auth_type = trust", "auth_file = " + filepath.Join(b.dir, "users"),
		"pool_mode = transaction", "default_pool_size = 20", "max_client_conn = 1000",
		"server_login_retry = 0.1", // seconds: by default it tries a server that was down again after 15
	}, config...)
	users := fmt.Sprintf("\"%s\" \"\"\n\"%s\" \"\"\n", Role, superuser)
	for path, text := range map[string]string{b.configFile(): strings.Join(lines, "\n") + "\n", filepath.Join(b.dir, "users"): users} {
		if err := errors.Join(os.WriteFile(path, []byte(text), 0o600), b.home.own(path)); err != nil {
			return err
		}
	}
	return b.home.own(b.dir)
}

func (b *Proxy) configFile() string { return filepath.Join(b.dir, "pgbouncer.ini") }
func (b *Proxy) logFile() string    { return filepath.Join(b.dir, "pgbouncer.log") }
func (b *Proxy) addr() string       { return fmt.Sprintf("127.0.0.1:%d", b.port) }

// URL returns the address of the server's own database through the bouncer.
func (b *Proxy) URL() string { return b.Of(b.server.URL()) }

// Of returns the address of a database of the server through the bouncer.
func (b *Proxy) Of(url string) string { return strings.Replace(url, b.server.Addr(), b.addr(), 1) }

// Start starts a bouncer that is down, and waits until it gives a connection of the server.
func (b *Proxy) Start() {
	b.t.Helper()
	if err := b.start(); err != nil {
		b.t.Fatalf("pgtest: the bouncer %s: %v\n%s", b.addr(), err, lastLines(b.logFile(), 20))
	}
}

func (b *Proxy) start() error {
	log, err := os.OpenFile(b.logFile(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer log.Close()
	cmd := b.home.command(b.dir, b.program, b.configFile())
	cmd.Stdout, cmd.Stderr = log, log
	bind(cmd, os.Kill)
	if err := b.process.start(cmd); err != nil {
		return err
	}
	return b.process.answers(b.URL())
}

// Kill ends the bouncer, and with it the connections of its clients and its own.
func (b *Proxy) Kill() {
	b.t.Helper()
	if err := b.process.kill(); err != nil {
		b.t.Fatalf("pgtest: the bouncer %s: %v", b.addr(), err)
	}
}

// Restart kills the bouncer and starts it again.
func (b *Proxy) Restart() {
	b.t.Helper()
	b.Kill()
	b.Start()
}
