package deliver_test

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/deliver"
)

// vector is a row of testdata/ssrf_vectors.tsv: an attempt to reach what must
// not be reached, or an address next to one.
type vector struct {
	id, kind, input, resolves, expect, why string
}

// vectors reads the rows of a kind, all of them when it is "".
func vectors(t testing.TB, kind string) []vector {
	t.Helper()
	data, err := os.ReadFile("testdata/ssrf_vectors.tsv")
	if err != nil {
		t.Fatal(err)
	}
	var out []vector
	for _, line := range strings.Split(strings.TrimSpace(string(data)), "\n")[1:] {
		c := strings.Split(line, "\t")
		if len(c) != 8 {
			t.Fatalf("%d columns in %q, want 8", len(c), line)
		}
		if v := (vector{c[0], c[1], c[2], c[3], c[4], c[6] + " " + c[7]}); kind == "" || v.kind == kind {
			out = append(out, v)
		}
	}
	if len(out) == 0 {
		t.Fatalf("no vectors of kind %q", kind)
	}
	return out
}

func TestVectorsAreComplete(t *testing.T) {
	got := map[string]int{}
	for _, v := range vectors(t, "") {
		got[v.kind]++
	}
	for kind, want := range map[string]int{"ip": 98, "url": 86, "dns": 15, "redirect": 8, "conf": 8} {
		if got[kind] != want {
			t.Errorf("%d vectors of kind %s, want %d", got[kind], kind, want)
		}
	}
}

func TestAddressVectors(t *testing.T) {
	for _, v := range vectors(t, "ip") {
		t.Run(v.id+" "+v.input, func(t *testing.T) {
			a := netip.MustParseAddr(v.input)
			if err := deliver.PublicAddr(a); (err == nil) != (v.expect == "allow") {
				t.Errorf("PublicAddr = %v, want %s: %s", err, v.expect, v.why)
			}
			var g deliver.Guard
			if err := g.Control("tcp", netip.AddrPortFrom(a, 443).String(), nil); (err == nil) != (v.expect == "allow") {
				t.Errorf("Control = %v, want %s: %s", err, v.expect, v.why)
			}
		})
	}
}

func TestURLVectors(t *testing.T) {
	for _, v := range vectors(t, "url") {
		t.Run(v.id, func(t *testing.T) {
			if err := deliver.CheckURL(v.input, false); (err == nil) != (v.expect == "allow") {
				t.Errorf("CheckURL(%q) = %v, want %s: %s", v.input, err, v.expect, v.why)
			}
		})
	}
}

// world is the network: names resolve to what a test says, and a connection that the
// guard lets through is noted and leads to the test's own TLS server.
type world struct {
	answers []string // of one look-up after the other; addresses with commas
	looked  []string
	dialled []string
	guard   deliver.Guard
	server  *httptest.Server
	hits    atomic.Int64
}

func newWorld(t *testing.T, answers ...string) (*world, *deliver.Webhook) {
	t.Helper()
	w := &world{answers: answers}
	w.server = httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { w.hits.Add(1) }))
	t.Cleanup(w.server.Close)
	w.guard.SetNet(
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
	hook := deliver.NewWebhookOn(deliver.WebhookConfig{}, &w.guard, roots)
	hook.TLSConfig().ServerName = "example.com" // the server's certificate, whatever the name
	t.Cleanup(hook.Close)
	return w, hook
}

func (w *world) checkDialled(t *testing.T) {
	t.Helper()
	for _, a := range w.dialled {
		if !publicReference(netip.MustParseAddrPort(a).Addr().Unmap()) {
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

func TestResolutionVectors(t *testing.T) {
	for _, v := range vectors(t, "dns") {
		t.Run(v.id+" "+v.resolves, func(t *testing.T) {
			if err := deliver.CheckURL(v.input, false); err != nil {
				t.Fatalf("the name alone is fine, yet %v", err)
			}
			_, answer, _ := strings.Cut("-> "+v.resolves, "-> ")
			if _, last, ok := strings.Cut(answer, "-> "); ok {
				answer = last // only what a CNAME ends at counts
			}
			var answers []string
			for s := range strings.SplitSeq(answer, ";") {
				answers = append(answers, strings.TrimPrefix(strings.TrimPrefix(s, "1st:"), "2nd:"))
			}
			w, hook := newWorld(t, answers...)
			blocked := false
			for _, answer := range answers { // one attempt for each
				before := len(w.dialled)
				r := hook.Send(t.Context(), delivery(v.input))
				hook.Close() // the next attempt connects anew
				public := answer != ""
				for s := range strings.SplitSeq(answer, ",") {
					public = public && publicReference(netip.MustParseAddr(s).Unmap())
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
			if blocked != (v.expect == "block") {
				t.Errorf("blocked %v, want %s: %s", blocked, v.expect, v.why)
			}
			w.checkDialled(t)
		})
	}
}

func TestRedirectVectors(t *testing.T) {
	for _, v := range vectors(t, "redirect") {
		t.Run(v.id+" "+v.input+" "+v.resolves, func(t *testing.T) {
			var canary atomic.Int64
			target := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { canary.Add(1) }))
			defer target.Close()
			status, err := strconv.Atoi(v.input)
			if err != nil {
				t.Fatal(err)
			}
			header, value, ok := strings.Cut(v.resolves, ": ")
			if !ok {
				header, value = "Location", v.resolves
			}
			// The vector's own target first, then one that would notice.
			for _, value := range []string{value, strings.Replace(value, "http://127.0.0.1/", target.URL, 1), target.URL} {
				requests := 0
				server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) {
					requests++
					rw.Header().Set(header, value)
					rw.WriteHeader(status)
				}))
				hook := deliver.MustWebhook(deliver.WebhookConfig{AllowPrivate: true})
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
					t.Errorf("got %+v, want %+v: %s", r, want, v.why)
				}
			}
		})
	}
}

// The opt-out opens private networks, on any port; metadata services it does not.
func TestAllowPrivate(t *testing.T) {
	g := deliver.Guard{AllowPrivate: true}
	for address, want := range map[string]bool{
		"10.20.0.5:443": true, "10.20.0.5:80": true, "[fd00::1]:80": true, "169.254.169.254:80": false, "[fd00:ec2::254]:80": false,
		"[fd00:c1::a9fe:a9fe]:80": false, "[fd00:a9fe:a9fe::1]:80": false, "[fd00:100::100:200]:80": false} {
		if err := g.Control("tcp", address, nil); (err == nil) != want {
			t.Errorf("Control(%s) = %v, want ok %v", address, err, want)
		}
	}
	for url, want := range map[string]bool{"https://10.20.0.5/": true, "http://10.20.0.5:81/": true, "https://169.254.169.254/": false} {
		if err := deliver.CheckURL(url, true); (err == nil) != want {
			t.Errorf("CheckURL(%s) = %v, want ok %v", url, err, want)
		}
	}
}

// A network that is allowed can be registered and is sent to, and no other.
func TestAllowNets(t *testing.T) {
	cfg := deliver.WebhookConfig{AllowNets: []netip.Prefix{netip.MustParsePrefix("127.77.0.0/16")}, Timeout: time.Second}
	b := newBench(t, nil, nil)
	m, err := deliver.NewEndpointManager(deliver.EndpointManagerConfig{Store: b.store.Endpoints(), Dispatcher: b.d, AllowNets: cfg.AllowNets})
	if err != nil {
		t.Fatal(err)
	}
	hook := deliver.MustWebhook(cfg)
	defer hook.Close()
	for url, want := range map[string]bool{"https://127.77.0.5:8443/": true, "https://127.78.0.5:8443/": false, "http://127.77.0.5:8443/": false} {
		if err := m.Check(url, deliver.GenerateSecret()); (err == nil) != want {
			t.Errorf("Check(%s) = %v, want ok %v", url, err, want)
		}
		// Nobody listens there, which only a connection can find out.
		if r := hook.Send(t.Context(), delivery(url)); r.OK || strings.Contains(r.Error, "not allowed") == want {
			t.Errorf("Send(%s): %q, want a refusal %v", url, r.Error, !want)
		}
	}
}

func TestConfigurationVectors(t *testing.T) {
	sent := func(t *testing.T, w *world, hook *deliver.Webhook, url string, dials int) bool {
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
			g := deliver.Guard{AllowNets: nets[:1]}
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
				if deliver.CheckURL(refused, false, list...) == nil {
					t.Errorf("%s is allowed", refused)
				}
			}
			return deliver.CheckURL(url, false, nets[:1]...) == nil
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
	for _, v := range vectors(t, "conf") {
		t.Run(v.id, func(t *testing.T) {
			run, known := cases[v.input]
			delete(cases, v.input)
			if !known {
				t.Fatalf("no case for %q", v.input)
			}
			if ok := run(t, v.resolves); ok != (v.expect == "allow") {
				t.Errorf("%q %s: ok %v, want %s: %s", v.input, v.resolves, ok, v.expect, v.why)
			}
		})
	}
}
