package bluesky_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/fetcher/bluesky"
)

const (
	postCollection   = "app.bsky.feed.post"
	repostCollection = "app.bsky.feed.repost"
)

// realServer is a PDS that a test makes accounts on.
type realServer struct {
	t    testing.TB
	url  string
	from origin
	http *http.Client
}

// needServer skips a test unless BLUESKY_PDS_URL names a PDS where anybody can make
// an account. What a test leaves there stays there.
func needServer(t testing.TB) *realServer {
	t.Helper()
	address := os.Getenv("BLUESKY_PDS_URL")
	if address == "" {
		t.Skip("SKIPPED: NO REAL BLUESKY SERVER: BLUESKY_PDS_URL is not set; .ci/bluesky starts a server and runs this test")
	}
	// Fetchers and writers have a connection each, as they would.
	transport := &http.Transport{MaxIdleConnsPerHost: 16}
	t.Cleanup(transport.CloseIdleConnections)
	from := origin{transport, nextAddress()}
	return &realServer{t: t, url: strings.TrimSuffix(address, "/"), from: from, http: &http.Client{Transport: from, Timeout: time.Minute}}
}

// lastAddress begins anywhere, as a server knows the addresses of runs before.
var lastAddress = func() *atomic.Uint32 {
	var n atomic.Uint32
	n.Store(rand.Uint32())
	return &n
}()

// nextAddress gives one of 198.18.0.0/15, which is for tests (RFC 2544), that it has not
// given before.
func nextAddress() string {
	n := lastAddress.Add(1)
	return fmt.Sprintf("198.%d.%d.%d", 18+n>>16&1, n>>8&255, n&255)
}

// origin says where requests come from to a server that believes it, as a PDS does
// on loopback: each test has the rate limits of an address of its own.
type origin struct {
	next http.RoundTripper
	ip   string
}

func (o origin) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("X-Forwarded-For", o.ip)
	return o.next.RoundTrip(r)
}

// fetcher reads the server's accounts.
func (s *realServer) fetcher(cfg bluesky.Config) *bluesky.Fetcher {
	s.t.Helper()
	cfg.HTTP = cmp.Or(cfg.HTTP, s.http)
	f, err := bluesky.New(cfg)
	if err != nil {
		s.t.Fatal(err)
	}
	return f
}

// call calls an XRPC method, with GET when there is no input. Bytes are sent as a
// picture, anything else as JSON.
func (s *realServer) call(ctx context.Context, token, method string, in, out any) error {
	verb, kind, body := http.MethodGet, "", []byte(nil)
	switch in := in.(type) {
	case nil:
	case []byte:
		verb, kind, body = http.MethodPost, "image/png", in
	default:
		b, err := json.Marshal(in)
		if err != nil {
			return err
		}
		verb, kind, body = http.MethodPost, "application/json", b
	}
	req, err := http.NewRequestWithContext(ctx, verb, s.url+"/xrpc/"+method, bytes.NewReader(body))
	if err != nil {
		return err
	}
	if kind != "" {
		req.Header.Set("Content-Type", kind)
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := s.http.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	switch {
	case err != nil:
		return err
	case resp.StatusCode != http.StatusOK:
		return fmt.Errorf("%s: %s: %s", method, resp.Status, answer)
	case out == nil:
		return nil
	}
	return json.Unmarshal(answer, out)
}

// person is an account, made by a test.
type person struct {
	server             *realServer
	handle, did, token string
}

// people makes accounts.
func (s *realServer) people(n int) []*person {
	s.t.Helper()
	var about struct{ AvailableUserDomains []string }
	s.must(s.call(s.t.Context(), "", "com.atproto.server.describeServer", nil, &about))
	if len(about.AvailableUserDomains) == 0 {
		s.t.Fatalf("%s has no domain for the handles of new accounts", s.url)
	}
	list := make([]*person, n)
	for i := range list {
		const letters = "abcdefghijklmnopqrstuvwxyz"
		name := make([]byte, 12)
		for j := range name {
			name[j] = letters[rand.IntN(len(letters))]
		}
		p := &person{server: s, handle: string(name) + about.AvailableUserDomains[0]}
		var made struct{ DID, AccessJwt string }
		s.must(s.call(s.t.Context(), "", "com.atproto.server.createAccount",
			map[string]string{"handle": p.handle, "email": string(name) + "@example.com", "password": "test " + string(name)}, &made))
		p.did, p.token = made.DID, made.AccessJwt
		list[i] = p
	}
	return list
}

func (s *realServer) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

// object is a record, or what a method takes.
type object map[string]any

// text is the record of a post.
func text(words string, at time.Time) object {
	return object{"$type": postCollection, "text": words, "createdAt": at.UTC().Format("2006-01-02T15:04:05.000Z")}
}

// create makes a record with a key of the server's choice, and gives its URI.
func (p *person) create(collection string, record object) (uri, cid string) {
	p.server.t.Helper()
	var made struct{ URI, CID string }
	p.server.must(p.server.call(p.server.t.Context(), p.token, "com.atproto.repo.createRecord",
		object{"repo": p.did, "collection": collection, "record": record}, &made))
	return made.URI, made.CID
}

// put makes or replaces a post, and gives its URI.
func (p *person) put(ctx context.Context, key string, record object) (string, error) {
	return "at://" + p.did + "/" + postCollection + "/" + key, p.server.call(ctx, p.token, "com.atproto.repo.putRecord",
		object{"repo": p.did, "collection": postCollection, "rkey": key, "record": record}, nil)
}

// burst makes n posts in as few commits as the server allows, and gives their URIs.
func (p *person) burst(ctx context.Context, n int) ([]string, error) {
	const mostWrites = 200
	var uris []string
	for len(uris) < n {
		var writes []object
		for i := range min(mostWrites, n-len(uris)) {
			writes = append(writes, object{"$type": "com.atproto.repo.applyWrites#create", "collection": postCollection,
				"value": text(fmt.Sprintf("number %d", len(uris)+i), time.Now())})
		}
		var made struct{ Results []struct{ URI string } }
		if err := p.server.call(ctx, p.token, "com.atproto.repo.applyWrites", object{"repo": p.did, "writes": writes}, &made); err != nil {
			return uris, err
		}
		for _, r := range made.Results {
			uris = append(uris, r.URI)
		}
	}
	return uris, nil
}

// clear removes the account's posts.
func (p *person) clear(keys []string) {
	p.server.t.Helper()
	var writes []object
	for _, key := range keys {
		writes = append(writes, object{"$type": "com.atproto.repo.applyWrites#delete", "collection": postCollection, "rkey": key})
	}
	p.server.must(p.server.call(p.server.t.Context(), p.token, "com.atproto.repo.applyWrites", object{"repo": p.did, "writes": writes}, nil))
}

func (p *person) remove(uri string) {
	p.server.t.Helper()
	parts := strings.Split(uri, "/") // at://did/collection/key
	p.server.must(p.server.call(p.server.t.Context(), p.token, "com.atproto.repo.deleteRecord",
		object{"repo": parts[2], "collection": parts[3], "rkey": parts[4]}, nil))
}

// deactivate hides the account until its owner activates it again.
func (p *person) deactivate() {
	p.server.t.Helper()
	p.server.must(p.server.call(p.server.t.Context(), p.token, "com.atproto.server.deactivateAccount", object{}, nil))
}

// until waits for a condition, which it looks at every 20 ms. The limit is for a
// server that is stuck, not for a slow machine.
func until(t testing.TB, what string, condition func() bool) {
	t.Helper()
	const limit = 3 * time.Minute
	ends := time.Now().Add(limit)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !condition() {
		if time.Now().After(ends) {
			t.Fatalf("waited %s in vain: %s", limit, what)
		}
		<-tick.C
	}
}
