package main

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/streamwatch/streamwatch/deliver"
)

// platformOrder says what the platform is.
type platformOrder struct {
	Accounts int
	Rate     float64 // posts a second, after the command to post
	Burst    int
	Secret   string // of the webhooks' signatures
}

// platformHello is its first line.
type platformHello struct {
	URL  string // of the platform
	Hook string // of the receiver
	CA   string // PEM
}

// platform is a Mastodon server, as far as polls ask it, and a receiver of webhooks.
type platform struct {
	order   platformOrder
	world   *world
	answers atomic.Int64
}

// servePlatform runs it until standard input ends. Commands: state, post, hush, result.
func servePlatform(o platformOrder) error {
	p := &platform{order: o, world: newWorld(o.Accounts)}
	cert, ca, err := certificate()
	if err != nil {
		return err
	}
	var servers []*http.Server
	var addrs []string
	for _, h := range []http.Handler{p.api(), http.HandlerFunc(p.hook)} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return err
		}
		s := &http.Server{Handler: h, TLSConfig: &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS12},
			ErrorLog: log.New(io.Discard, "", 0)} // a client that is killed leaves handshakes undone
		servers, addrs = append(servers, s), append(addrs, l.Addr().String())
		go s.ServeTLS(l, "", "")
	}
	var posting sync.WaitGroup
	stop := make(chan struct{})
	err = answers(platformHello{URL: "https://" + addrs[0], Hook: "https://" + addrs[1] + "/hook", CA: ca}, func(command string) (any, error) {
		switch command {
		case "post":
			posting.Go(func() { p.world.run(o.Rate, o.Burst, stop) })
		case "hush":
			close(stop)
			posting.Wait()
		case "result":
			return p.world.result(), nil
		case "state":
		default:
			return nil, fmt.Errorf("platform: command %q is not known", command)
		}
		return p.world.state(), nil
	})
	for _, s := range servers {
		err = errors.Join(err, s.Close())
	}
	return err
}

func (p *platform) api() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /api/v1/accounts/lookup", func(w http.ResponseWriter, r *http.Request) {
		i, err := strconv.Atoi(strings.TrimPrefix(r.FormValue("acct"), namePrefix))
		if err != nil || i < 0 || i >= p.order.Accounts {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/json; charset=utf-8")
		fmt.Fprintf(w, `{"id":%q,"username":%q}`, accountID(i), username(i))
	})
	mux.HandleFunc("GET /api/v1/accounts/{id}/statuses", p.statuses)
	return mux
}

var buffers = sync.Pool{New: func() any { return new([]byte) }}

// statuses answers with a page. Its counts and entity tag are new each time.
func (p *platform) statuses(w http.ResponseWriter, r *http.Request) {
	account := p.world.accountOf(r.PathValue("id"))
	if account < 0 {
		http.NotFound(w, r)
		return
	}
	var below int64
	if s := r.FormValue("max_id"); s != "" {
		var err error
		if below, err = strconv.ParseInt(s, 10, 64); err != nil || below <= 0 {
			http.Error(w, `{"error":"max_id"}`, http.StatusBadRequest)
			return
		}
	}
	limit, err := strconv.Atoi(r.FormValue("limit"))
	if err != nil || limit < 1 || limit > 40 {
		http.Error(w, `{"error":"limit"}`, http.StatusBadRequest)
		return
	}
	posts := p.world.page(account, below, limit)
	n := p.answers.Add(1)
	buf := buffers.Get().(*[]byte)
	defer buffers.Put(buf)
	*buf = appendPage((*buf)[:0], account, posts, n)
	body := *buf
	h := w.Header()
	h.Set("Content-Type", "application/json; charset=utf-8")
	h.Set("Cache-Control", "private, no-store")
	h.Set("Etag", fmt.Sprintf(`W/"%032x"`, n))
	h.Set("X-RateLimit-Limit", "1000000")
	h.Set("X-RateLimit-Remaining", "999999")
	h.Set("X-RateLimit-Reset", time.Now().Add(5*time.Minute).UTC().Format(time.RFC3339))
	if len(posts) > 0 {
		h.Set("Link", fmt.Sprintf(`<https://%[1]s%[2]s?limit=%[5]d&max_id=%[3]d>; rel="next", <https://%[1]s%[2]s?limit=%[5]d&min_id=%[4]d>; rel="prev"`,
			r.Host, r.URL.Path, posts[len(posts)-1].id, posts[0].id, limit))
	}
	h.Set("Content-Length", strconv.Itoa(len(body)))
	w.Write(body)
}

// hook takes note of the post and answers 200.
func (p *platform) hook(_ http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(io.LimitReader(r.Body, 1<<20))
	_, rest, _ := bytes.Cut(body, []byte(`"tweet_id":"`))
	id, _, _ := bytes.Cut(rest, []byte(`"`))
	n, _ := strconv.ParseInt(string(id), 10, 64)
	p.world.receive(n, err == nil && deliver.Verify(deliver.Secret(p.order.Secret), body, r.Header.Get(deliver.HeaderSignature)))
}

// certificate signs itself.
func certificate() (tls.Certificate, string, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, "", err
	}
	t := x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "benchmark platform"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}
	der, err := x509.CreateCertificate(rand.Reader, &t, &t, &key.PublicKey, key)
	if err != nil {
		return tls.Certificate{}, "", err
	}
	ca := string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, ca, nil
}
