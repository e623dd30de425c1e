package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/streamwatch/streamwatch/benchmarks/post"
	"github.com/streamwatch/streamwatch/benchmarks/sink"
	"github.com/streamwatch/streamwatch/deliver"
)

var (
	body   = []byte(`{"event":"tweet.detected","tweet_text":"` + strings.Repeat("x", 1024-42) + `"}`)
	secret = deliver.GenerateSecret()
)

// roots are the certificates that the clients trust with the system's.
var roots *x509.CertPool

// trust has everything in this process trust a certificate. The webhook client
// takes the system's, which SSL_CERT_FILE names and which are read once: so there
// is one sink with TLS in a process.
func trust(file string) error {
	pem, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("dispatch: %w", err)
	}
	roots = x509.NewCertPool()
	roots.AppendCertsFromPEM(pem)
	return os.Setenv("SSL_CERT_FILE", file)
}

// headers are those of ours, for a request of a peer.
func headers(id string) [][2]string { return post.Headers("whk_0", id, secret, body) }

// httpClient is net/http in one way or another.
type httpClient struct {
	label    string
	client   *http.Client
	snk      *sink.Sink
	hosts    int
	inFlight int
}

func (h *httpClient) name() string { return h.label }

func (h *httpClient) run(d time.Duration) (sent, failed int64, err error) {
	next := make([]int, h.inFlight)
	sent, failed = parallel(h.inFlight, d, func(worker int) error {
		host := (worker + next[worker]*h.inFlight) % h.hosts
		next[worker]++
		return post.Send(context.Background(), h.client, h.snk.URL(host, "/"), headers("dlv_"+strconv.Itoa(next[worker])), body)
	})
	return sent, failed, nil
}

func (h *httpClient) close() { h.client.CloseIdleConnections() }

// rawSocket is the limit: what a program must do at least.
type rawSocket struct {
	snk      *sink.Sink
	secure   bool
	hosts    int
	inFlight int
	conns    []net.Conn
	readers  []*bufio.Reader
}

func (r *rawSocket) name() string { return "raw socket" }

func (r *rawSocket) run(d time.Duration) (sent, failed int64, err error) {
	if r.conns == nil {
		if err := r.dial(); err != nil {
			return 0, 0, err
		}
	}
	buffers, next := make([][]byte, r.inFlight), make([]int, r.inFlight)
	sent, failed = parallel(r.inFlight, d, func(worker int) error {
		i := next[worker]*r.inFlight + worker // its connections take turns
		if next[worker]++; i+r.inFlight >= len(r.conns) {
			next[worker] = 0
		}
		b := append(buffers[worker][:0], "POST / HTTP/1.1\r\nHost: sink\r\n"...)
		for _, kv := range headers("dlv_" + strconv.Itoa(i)) {
			b = append(append(append(append(b, kv[0]...), ": "...), kv[1]...), "\r\n"...)
		}
		b = append(strconv.AppendInt(append(b, "Content-Length: "...), int64(len(body)), 10), "\r\n\r\n"...)
		b = append(b, body...)
		buffers[worker] = b
		if _, err := r.conns[i].Write(b); err != nil {
			return err
		}
		status, err := r.readers[i].ReadSlice('\n')
		if err != nil || !bytes.HasPrefix(status, []byte("HTTP/1.1 200")) {
			return errors.Join(err, errors.New("no 200"))
		}
		for line := status; len(line) > 2; {
			if line, err = r.readers[i].ReadSlice('\n'); err != nil {
				return err
			}
		}
		return nil
	})
	return sent, failed, nil
}

func (r *rawSocket) dial() error {
	for i := range max(r.inFlight, r.hosts) {
		c, err := net.Dial("tcp", r.snk.Addr(i%r.hosts))
		if err != nil {
			return err
		}
		if r.secure {
			c = tls.Client(c, &tls.Config{RootCAs: roots, ServerName: "127.0.0.1", MinVersion: tls.VersionTLS12})
		}
		r.conns = append(r.conns, c)
		r.readers = append(r.readers, bufio.NewReader(c))
	}
	return nil
}

func (r *rawSocket) close() {
	for _, c := range r.conns {
		c.Close()
	}
}

// contestants are ours first.
func contestants(snk *sink.Sink, secure bool, hosts, inFlight int) ([]contestant, error) {
	ours, err := newDispatcher(snk, hosts, inFlight)
	if err != nil {
		return nil, err
	}
	return []contestant{
		ours,
		&httpClient{"http.DefaultClient", http.DefaultClient, snk, hosts, inFlight},
		&httpClient{"net/http, tuned", post.Tuned(inFlight, roots), snk, hosts, inFlight},
		&rawSocket{snk: snk, secure: secure, hosts: hosts, inFlight: inFlight},
	}, nil
}
