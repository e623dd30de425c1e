package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/streamwatch/streamwatch"
	"github.com/streamwatch/streamwatch/apikey"
	"github.com/streamwatch/streamwatch/billing"
	"github.com/streamwatch/streamwatch/enginehttp"
	"github.com/streamwatch/streamwatch/enginetest"
	"github.com/streamwatch/streamwatch/monitor"
	"github.com/streamwatch/streamwatch/secret"
	"github.com/streamwatch/streamwatch/storage/memory"
)

// benchCase is a request that is asked all the time.
type benchCase struct{ name, path string }

var cases = []benchCase{
	{"account", "/v1/account/me"},
	{"list 20 monitors", "/v1/social/stream/monitors"},
}

// service is the API with one customer, and the bare handlers.
type service struct {
	store   *memory.Store
	ours    string // address
	key     string
	servers []*http.Server
	wg      sync.WaitGroup
}

func newService() (*service, error) {
	ctx := context.Background()
	s := &service{store: memory.New(memory.Options{})}
	engine, err := streamwatch.New(streamwatch.Config{Fetcher: enginetest.NewPlatform(enginetest.PlatformConfig{}), Store: s.store})
	if err != nil {
		return nil, err
	}
	for i := range 20 {
		_, err := engine.Monitors().Create(ctx, monitor.CreateRequest{Owner: "acme", Name: fmt.Sprint("monitor ", i), Usernames: []string{"nasa", "esa", fmt.Sprint("account", i)}})
		if err != nil {
			return nil, err
		}
	}
	keys, err := apikey.NewManager(apikey.Config{Records: s.store.Ports().Records})
	if err != nil {
		return nil, err
	}
	issued, err := keys.Issue(ctx, apikey.IssueRequest{Owner: "acme", Name: "benchmark", RatePerMinute: 1_000_000})
	if err != nil {
		return nil, err
	}
	s.key = string(issued.Secret)
	// So much that the balance always has as many digits.
	if err := s.store.Ports().Ledger.Append(ctx, billing.Entry{ID: "funds", Owner: "acme", Kind: billing.KindTopUp, Amount: 5e15, At: time.Now()}); err != nil {
		return nil, err
	}
	h, err := enginehttp.New(engine, enginehttp.Options{Auth: tireless{keys}, Ledger: s.store.Ports().Ledger})
	if err != nil {
		return nil, err
	}
	s.ours = s.serve(h)
	return s, nil
}

// tireless gives keys a rate that no machine reaches. Requests are counted against
// it all the same.
type tireless struct{ *apikey.Manager }

func (t tireless) Authenticate(ctx context.Context, key secret.Value) (apikey.Principal, error) {
	who, err := t.Manager.Authenticate(ctx, key)
	who.RatePerMinute = 1_000_000_000
	return who, err
}

// serve puts a handler on loopback.
func (s *service) serve(h http.Handler) (addr string) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err) // no loopback
	}
	srv := enginehttp.NewServer(h)
	s.servers = append(s.servers, srv)
	s.wg.Go(func() { srv.Serve(ln) })
	return ln.Addr().String()
}

// bare is a handler that knows the answer.
func (s *service) bare(path string, body []byte) (addr string) {
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+path, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Length", strconv.Itoa(len(body)))
		w.Write(body)
	})
	return s.serve(mux)
}

// body is what the API answers.
func (s *service) body(path string) ([]byte, error) {
	req, err := http.NewRequest("GET", "http://"+s.ours+path, nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("X-Api-Key", s.key)
	req.Close = true
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err == nil && (resp.StatusCode != http.StatusOK || resp.Header.Get("X-Credits-Used") != "1") {
		err = errors.New("http: " + resp.Status + " " + string(b))
	}
	return b, err
}

func (s *service) close() {
	for _, srv := range s.servers {
		srv.Close()
	}
	s.wg.Wait()
	s.store.Close(context.Background())
}
