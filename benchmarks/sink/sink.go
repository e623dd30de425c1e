package sink

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
)

// variable has the Config in the child's environment.
const variable = "STREAMWATCH_BENCHMARK_SINK"

// Config says what a sink listens on.
type Config struct {
	Hosts int  // addresses 127.0.0.1, 127.0.0.2, …: 1 to 250
	TLS   bool // with a certificate of its own for them all
}

// Sink is a running sink.
type Sink struct {
	cmd   *exec.Cmd
	in    io.Closer
	dir   string
	hello hello
}

// hello is what the child says first.
type hello struct {
	Addrs []string // host:port of each host
	CA    string   // PEM of its certificate, "" without TLS
}

// Start runs this program again as a sink, and waits until it listens.
func Start(c Config) (*Sink, error) {
	if c.Hosts < 1 || c.Hosts > 250 {
		return nil, fmt.Errorf("sink: Hosts %d is not allowed: want 1 to 250", c.Hosts)
	}
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("sink: %w", err)
	}
	env, err := json.Marshal(c)
	if err != nil {
		return nil, fmt.Errorf("sink: %w", err)
	}
	s := &Sink{cmd: exec.Command(self)}
	s.cmd.Env = append(os.Environ(), variable+"="+string(env))
	s.cmd.Stderr = os.Stderr
	in, err1 := s.cmd.StdinPipe()
	out, err2 := s.cmd.StdoutPipe()
	if err := errors.Join(err1, err2); err != nil {
		return nil, fmt.Errorf("sink: %w", err)
	}
	if err := s.cmd.Start(); err != nil {
		return nil, fmt.Errorf("sink: %w", err)
	}
	s.in = in
	if err := json.NewDecoder(bufio.NewReader(out)).Decode(&s.hello); err != nil {
		s.Stop()
		return nil, fmt.Errorf("sink: its first line: %w", err)
	}
	if c.TLS {
		if s.dir, err = os.MkdirTemp("", "streamwatch-sink-"); err == nil {
			err = os.WriteFile(s.CAFile(), []byte(s.hello.CA), 0o600)
		}
		if err != nil {
			s.Stop()
			return nil, fmt.Errorf("sink: %w", err)
		}
	}
	return s, nil
}

// Addr is the host:port of one of its hosts.
func (s *Sink) Addr(host int) string { return s.hello.Addrs[host%len(s.hello.Addrs)] }

// URL is that of a path at one of its hosts.
func (s *Sink) URL(host int, path string) string {
	scheme := "http"
	if s.hello.CA != "" {
		scheme = "https"
	}
	return scheme + "://" + s.Addr(host) + path
}

// CAFile has the certificate to trust, for SSL_CERT_FILE.
func (s *Sink) CAFile() string { return filepath.Join(s.dir, "ca.pem") }

// Posts asks how many requests it has answered. TLS is not spoken here.
func (s *Sink) Posts() (n int64, err error) {
	resp, err := http.Get(s.URL(0, "/posts"))
	if err != nil {
		return 0, fmt.Errorf("sink: %w", err)
	}
	defer resp.Body.Close()
	err = json.NewDecoder(resp.Body).Decode(&n)
	return n, err
}

// Stop ends the process.
func (s *Sink) Stop() {
	s.in.Close() // the child ends with its standard input
	s.cmd.Wait()
	if s.dir != "" {
		os.RemoveAll(s.dir)
	}
}
