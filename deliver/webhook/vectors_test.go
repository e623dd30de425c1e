package webhook_test

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/deliver/webhook"
	"github.com/streamwatch/streamwatch/internal/netguard"
	"github.com/streamwatch/streamwatch/internal/netguard/ssrftest"
)

// world is the network: names resolve to what a test says, and a connection that the
// guard lets through is noted and leads to the test's own TLS server.
type world struct {
	answers []string // of one look-up after the other; addresses with commas
	looked  []string
	dialled []string
	guard   netguard.Guard
	server  *httptest.Server
	hits    atomic.Int64
}

func newWorld(t *testing.T, answers ...string) (*world, *webhook.Sender) {
	t.Helper()
	return newWorldOn(t, webhook.NewOn, answers...)
}

func newWorldOn(t *testing.T, sender newSender, answers ...string) (*world, *webhook.Sender) {
	t.Helper()
	w := &world{answers: answers}
	w.server = httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { w.hits.Add(1) }))
	t.Cleanup(w.server.Close)
	netguard.SetNet(&w.guard,
		func(_ context.Context, host string) ([]netip.Addr, error) {
			w.looked = append(w.looked, host)
			answer := w.answers[min(len(w.looked), len(w.answers))-1]
			if answer == "" {
				return nil, nil
			}
			var addrs []netip.Addr
			for s := range strings.SplitSeq(answer, ",") {
				addrs = append(addrs, netip.MustParseAddr(s))
			}
			return addrs, nil
		},
		func(ctx context.Context, network, address string) (net.Conn, error) {
			if err := w.guard.Control(network, address, nil); err != nil {
				return nil, err
			}
			w.dialled = append(w.dialled, address)
			return (&net.Dialer{}).DialContext(ctx, "tcp", w.server.Listener.Addr().String())
		})
	roots := w.server.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs
	hook := sender(webhook.Config{}, &w.guard, roots)
	hook.TLSConfig().ServerName = "example.com" // the server's certificate, whatever the name
	t.Cleanup(hook.Close)
	return w, hook
}

func (w *world) checkDialled(t *testing.T) {
	t.Helper()
	for _, a := range w.dialled {
		if !ssrftest.Public(netip.MustParseAddrPort(a).Addr().Unmap()) {
			t.Errorf("a connection to %s was begun", a)
		}
	}
}

func delivery(url string) *deliver.Delivery {
	return &deliver.Delivery{
		ID: "dlv_1", EndpointID: "whk_1", Event: &deliver.Event{ID: "evt_1", Body: []byte(body)},
		Endpoint: deliver.Endpoint{ID: "whk_1", URL: url, Secret: secret},
	}
}

func TestResolutionVectors(t *testing.T) { eachClient(t, testResolutionVectors) }

func testResolutionVectors(t *testing.T, own bool, sender newSender) {
	for _, v := range ssrftest.Vectors(t, "dns") {
		t.Run(v.ID+" "+v.Resolves, func(t *testing.T) {
			if err := netguard.CheckURL(v.Input, false); err != nil {
				t.Fatalf("the name alone is fine, yet %v", err)
			}
			_, answer, _ := strings.Cut("-> "+v.Resolves, "-> ")
			if _, last, ok := strings.Cut(answer, "-> "); ok {
				answer = last // only what a CNAME ends at counts
			}
			var answers []string
			for s := range strings.SplitSeq(answer, ";") {
				answers = append(answers, strings.TrimPrefix(strings.TrimPrefix(s, "1st:"), "2nd:"))
			}
			w, hook := newWorldOn(t, sender, answers...)
			blocked := false
			for _, answer := range answers { // one attempt for each
				before := len(w.dialled)
				r := hook.Send(t.Context(), delivery(v.Input))
				hook.Close() // the next attempt connects anew
				public := answer != ""
				for s := range strings.SplitSeq(answer, ",") {
					public = public && ssrftest.Public(netip.MustParseAddr(s).Unmap())
				}
				blocked = blocked || !public
				switch {
				case public != r.OK:
					t.Errorf("%q gave %+v, want ok %v", answer, r, public)
				case !public && len(w.dialled) != before:
					t.Errorf("%q led to a connection", answer)
				case !public && answer != "" && r.Error != "address not allowed":
					t.Errorf("%q gave the error %q, want one without addresses", answer, r.Error)
				}
			}
			if blocked != (v.Expect == "block") {
				t.Errorf("blocked %v, want %s: %s", blocked, v.Expect, v.Why)
			}
			w.checkDialled(t)
		})
	}
}

func TestRedirectVectors(t *testing.T) { eachClient(t, testRedirectVectors) }

func testRedirectVectors(t *testing.T, own bool, sender newSender) {
	for _, v := range ssrftest.Vectors(t, "redirect") {
		t.Run(v.ID+" "+v.Input+" "+v.Resolves, func(t *testing.T) {
			var canary atomic.Int64
			target := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { canary.Add(1) }))
			defer target.Close()
			status, err := strconv.Atoi(v.Input)
			if err != nil {
				t.Fatal(err)
			}
			header, value, ok := strings.Cut(v.Resolves, ": ")
			if !ok {
				header, value = "Location", v.Resolves
			}
			// The vector's own target first, then one that would notice.
			for _, value := range []string{value, strings.Replace(value, "http://127.0.0.1/", target.URL, 1), target.URL} {
				requests := 0
				server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) {
					requests++
					rw.Header().Set(header, value)
					rw.WriteHeader(status)
				}))
				hook := sender(webhook.Config{AllowPrivate: true}, &netguard.Guard{}, nil)
				r := hook.Send(t.Context(), delivery(server.URL))
				hook.Close()
				server.Close()
				if requests != 1 || canary.Load() != 0 {
					t.Errorf("%d requests to the receiver and %d to the target, want 1 and 0", requests, canary.Load())
				}
				want := deliver.Result{StatusCode: status, OK: status < 300}
				if !want.OK {
					want.Error = "redirect not followed"
				}
				if r != want {
					t.Errorf("got %+v, want %+v: %s", r, want, v.Why)
				}
			}
		})
	}
}

// A network that is allowed is sent to, and no other.
func TestAllowNets(t *testing.T) {
	hook := webhook.Must(webhook.Config{AllowNets: []netip.Prefix{netip.MustParsePrefix("127.77.0.0/16")}, Timeout: time.Second})
	defer hook.Close()
	for url, want := range map[string]bool{"https://127.77.0.5:8443/": true, "https://127.78.0.5:8443/": false, "http://127.77.0.5:8443/": false} {
		// Nobody listens there, which only a connection can find out.
		if r := hook.Send(t.Context(), delivery(url)); r.OK || strings.Contains(r.Error, "not allowed") == want {
			t.Errorf("Send(%s): %q, want a refusal %v", url, r.Error, !want)
		}
	}
}

func TestConfigurationVectors(t *testing.T) {
	sent := func(t *testing.T, w *world, hook *webhook.Sender, url string, dials int) bool {
		r := hook.Send(t.Context(), delivery(url))
		w.checkDialled(t)
		if len(w.dialled) != dials {
			t.Errorf("connections to %q, want %d", w.dialled, dials)
		}
		return r.OK
	}
	cases := map[string]func(t *testing.T, url string) (ok bool){
		"env HTTPS_PROXY=http://127.0.0.1:3128": func(t *testing.T, url string) bool {
			// Set in TestMain. The world would show a connection to the proxy.
			w, hook := newWorld(t, "93.184.216.34")
			return sent(t, w, hook, url, 1)
		},
		"env HTTPS_PROXY=http://proxy:3128 NO_PROXY=*": func(t *testing.T, url string) bool {
			t.Setenv("NO_PROXY", "*")
			w, hook := newWorld(t, "10.0.0.1")
			return sent(t, w, hook, url, 0)
		},
		"/etc/hosts: 127.0.0.1 example.com": func(t *testing.T, url string) bool {
			w, hook := newWorld(t, "127.0.0.1")
			return sent(t, w, hook, url, 0)
		},
		// A resolver of the C library reads such a host as 127.0.0.1.
		"GODEBUG=netdns=go": func(t *testing.T, url string) bool {
			ok := false
			for _, resolver := range []string{"netdns=go", "netdns=cgo"} {
				t.Setenv("GODEBUG", resolver)
				w, hook := newWorld(t, "127.0.0.1")
				ok = ok || sent(t, w, hook, url, 0)
				if c, err := w.guard.DialContext(t.Context(), "tcp", "0x7f000001:443"); err == nil || len(w.dialled) != 0 {
					t.Errorf("the guard alone connected: %v", c)
				}
			}
			return ok
		},
		"resolv.conf: search corp.example": func(t *testing.T, url string) bool {
			w, hook := newWorld(t, "93.184.216.34")
			ok := sent(t, w, hook, url, 0)
			if len(w.looked) != 0 {
				t.Errorf("%q was looked up", w.looked)
			}
			// Nor is the search list used for names that have dots.
			sent(t, w, hook, "https://hooks.example.com/", 1)
			if w.looked[0] != "hooks.example.com." {
				t.Errorf("looked up %q, want an absolute name", w.looked[0])
			}
			return ok
		},
		"operator allow-list 10.20.0.0/16": func(t *testing.T, url string) bool {
			nets := []netip.Prefix{netip.MustParsePrefix("10.20.0.0/16"), netip.MustParsePrefix("169.254.0.0/16"), netip.MustParsePrefix("0.0.0.0/0")}
			g := netguard.Guard{AllowNets: nets[:1]}
			for address, want := range map[string]bool{
				"10.20.0.5:443": true, "10.20.255.255:8443": true, "[::ffff:10.20.0.5]:443": true, "10.20.0.5:80": false, "10.21.0.0:443": false, "127.0.0.1:443": false, "93.184.216.34:443": true} {
				if err := g.Control("tcp4", address, nil); (err == nil) != want {
					t.Errorf("Control(%s) = %v, want ok %v", address, err, want)
				}
			}
			g.AllowNets = nets // what no private network is stays shut, and so do metadata services
			for _, address := range []string{"169.254.169.254:443", "100.100.100.200:443", "168.63.129.16:443", "0.0.0.0:443", "224.0.0.1:443"} {
				if g.Control("tcp4", address, nil) == nil {
					t.Errorf("%s was opened", address)
				}
			}
			for refused, list := range map[string][]netip.Prefix{
				"http://10.20.0.5/": nets[:1], "https://10.20.0.5:80/": nets[:1], "https://10.21.0.5/": nets[:1], "https://localhost/": nets, "https://169.254.169.254/": nets} {
				if netguard.CheckURL(refused, false, list...) == nil {
					t.Errorf("%s is allowed", refused)
				}
			}
			return netguard.CheckURL(url, false, nets[:1]...) == nil
		},
		"pooled keep-alive connection to 93.184.216.34; DNS now answers 10.0.0.5": func(t *testing.T, url string) bool {
			w, hook := newWorld(t, "93.184.216.34", "10.0.0.5")
			first, second := sent(t, w, hook, url, 1), sent(t, w, hook, url, 1)
			hook.Close()
			if sent(t, w, hook, url, 1) {
				t.Error("a new connection was made to 10.0.0.5")
			}
			return first && second
		},
		"call POST /v1/social/stream/webhooks/test": func(t *testing.T, url string) bool {
			w, hook := newWorld(t, "10.0.0.1")
			return sent(t, w, hook, url, 0)
		},
	}
	defer func() {
		for input := range cases {
			t.Errorf("no vector for %q", input)
		}
	}()
	for _, v := range ssrftest.Vectors(t, "conf") {
		t.Run(v.ID, func(t *testing.T) {
			run, known := cases[v.Input]
			delete(cases, v.Input)
			if !known {
				t.Fatalf("no case for %q", v.Input)
			}
			if ok := run(t, v.Resolves); ok != (v.Expect == "allow") {
				t.Errorf("%q %s: ok %v, want %s: %s", v.Input, v.Resolves, ok, v.Expect, v.Why)
			}
		})
	}
}
