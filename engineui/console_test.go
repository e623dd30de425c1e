package engineui_test

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/streamwatch/streamwatch"
	"github.com/streamwatch/streamwatch/enginetest"
	"github.com/streamwatch/streamwatch/engineui"
)

func TestConfigIsChecked(t *testing.T) {
	e, err := streamwatch.New(streamwatch.Config{Fetcher: enginetest.NewPlatform(enginetest.PlatformConfig{})})
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct {
		name string
		cfg  engineui.Config
		want string
	}{
		{"no engine", engineui.Config{Authorize: engineui.AllowLoopback}, "Config.Engine is missing"},
		{"nobody says who may look", engineui.Config{Engine: e}, "Config.Authorize is missing"},
		{"two say it", engineui.Config{Engine: e, Authorize: engineui.AllowLoopback, Login: &engineui.KeyLogin{}}, "Config.Login is not allowed"},
		{"a login without keys", engineui.Config{Engine: e, Login: &engineui.KeyLogin{}}, "Config.Login.Auth is missing"},
		{"a session of a second", engineui.Config{Engine: e, Login: &engineui.KeyLogin{Auth: nobody{}, Lasts: 1e9}}, "Config.Login.Lasts 1s is not allowed"},
	} {
		t.Run(row.name, func(t *testing.T) {
			if _, err := engineui.New(row.cfg); err == nil || !strings.Contains(err.Error(), row.want) {
				t.Errorf("error %v, want %q", err, row.want)
			}
		})
	}
}

// Whoever may see a page gets one that is sound; others are told that there is none.
func TestPages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.post("acme_news", "a post")
		w.post("globex_news", "another post")
		all, operators := engineui.Paths()
		for _, viewer := range []string{"operator", "acme", "acme-reader"} {
			for _, path := range all {
				status, body := get(w, viewer, "/"+path)
				needsMore := status == http.StatusBadRequest || status == http.StatusNotFound && viewer == "operator" // what to show is a parameter
				switch hidden := viewer != "operator" && slices.Contains(operators, path); {
				case hidden && status != http.StatusNotFound, !hidden && status != http.StatusOK && !needsMore && status != http.StatusNotFound:
					t.Errorf("%s gets /%s: status %d", viewer, path, status)
				}
				t.Log(viewer, path, status, len(body))
				sound(t, body)
			}
		}
		for _, viewer := range []string{"operator", "acme"} {
			if status, body := get(w, viewer, "/nothing"); status != http.StatusNotFound || !strings.Contains(body, "no such page") {
				t.Errorf("an unknown page: status %d", status)
			}
		}
		for _, path := range all {
			if status, body := get(w, "", "/"+path); status != http.StatusForbidden {
				t.Errorf("nobody gets /%s: status %d: %s", path, status, body)
			}
		}
	})
}

// Below any prefix, which is stripped or not, every link leads to a page of the console.
func TestPrefixes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.post("acme_news", "a post")
		for _, row := range []struct {
			name, prefix string
			strip        bool
		}{
			{"at the root", "/", false}, {"below a name", "/console/", false}, {"below two", "/a/b/", false},
			{"below a name that is stripped", "/console/", true}, {"below two that are stripped", "/a/b/", true},
		} {
			mux := http.NewServeMux()
			if row.strip {
				mux.Handle(row.prefix, http.StripPrefix(strings.TrimSuffix(row.prefix, "/"), w))
			} else {
				mux.Handle(row.prefix, w)
			}
			first := &url.URL{Scheme: "http", Host: "console.example.com", Path: row.prefix}
			seen := map[string]bool{first.String(): true}
			for todo := []*url.URL{first}; len(todo) > 0 && len(seen) < 200; todo = todo[1:] {
				status, body := get(mux, "operator", todo[0].RequestURI())
				if status != http.StatusOK {
					t.Errorf("%s: %s: status %d", row.name, todo[0], status)
				}
				if strings.HasSuffix(todo[0].Path, ".css") || strings.HasSuffix(todo[0].Path, ".js") {
					continue
				}
				for _, g := range tags(t, body) {
					for _, name := range []string{"href", "src"} {
						link, ok := g.attr[name]
						if !ok || g.attr["rel"] == "noopener noreferrer nofollow" {
							continue
						}
						to, err := todo[0].Parse(link)
						if err != nil {
							t.Fatal(err)
						}
						to.Fragment = ""
						if !strings.HasPrefix(to.String(), first.String()) {
							t.Errorf("%s: %s leads out of the prefix, to %s", row.name, todo[0], to)
						}
						if !seen[to.String()] {
							seen[to.String()] = true
							todo = append(todo, to)
						}
					}
				}
			}
			for _, want := range []string{"", "sources", "fleet", "credits", "console.css", "console.js"} {
				if !seen[first.String()+want] {
					t.Errorf("%s: no link leads to %q: %v", row.name, want, seen)
				}
			}
		}
	})
}

func TestHeaders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		for _, path := range []string{"/", "/nothing", "/console.css", "/console.js"} {
			got := ask(w, http.MethodGet, path, "", http.Header{"Viewer": {"acme"}})
			for name, want := range map[string]string{
				"Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
				"X-Content-Type-Options":  "nosniff", "Referrer-Policy": "same-origin",
			} {
				if got.Header().Get(name) != want {
					t.Errorf("%s: %s is %q, want %q", path, name, got.Header().Get(name), want)
				}
			}
			cache, asset := "no-store", strings.Contains(path, ".")
			if asset {
				cache = "no-cache"
			}
			if got.Header().Get("Cache-Control") != cache {
				t.Errorf("%s: Cache-Control is %q, want %q", path, got.Header().Get("Cache-Control"), cache)
			}
			if asset {
				again := ask(w, http.MethodGet, path, "", http.Header{"If-None-Match": {got.Header().Get("ETag")}})
				if again.Code != http.StatusNotModified || again.Body.Len() > 0 {
					t.Errorf("%s again: status %d with %d bytes, want 304", path, again.Code, again.Body.Len())
				}
			}
		}
		if got := ask(w, http.MethodHead, "/", "", http.Header{"Viewer": {"acme"}}); got.Code != http.StatusOK {
			t.Errorf("HEAD: status %d", got.Code)
		}
		if got := ask(w, http.MethodPut, "/", "", http.Header{"Viewer": {"acme"}}); got.Code != http.StatusMethodNotAllowed || got.Header().Get("Allow") == "" {
			t.Errorf("PUT: status %d, Allow %q", got.Code, got.Header().Get("Allow"))
		}
	})
}

// Forms of other sites are refused, and so are those of who may only read.
func TestForms(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		all, _ := engineui.Paths()
		for _, path := range all {
			for _, row := range []struct {
				name   string
				header http.Header
			}{
				{"from another site", http.Header{"Viewer": {"operator"}, "Sec-Fetch-Site": {"cross-site"}}},
				{"from a sister site", http.Header{"Viewer": {"operator"}, "Sec-Fetch-Site": {"same-site"}}},
				{"by an old browser, from another site", http.Header{"Viewer": {"operator"}, "Origin": {"https://evil.example.net"}}},
			} {
				if got := ask(w, http.MethodPost, "/"+path, "a=b", row.header); got.Code != http.StatusForbidden || !strings.Contains(got.Body.String(), "another site") {
					t.Errorf("/%s %s: status %d, want 403", path, row.name, got.Code)
				}
			}
			// So browsers send a form over plain HTTP, unless they are told to name no referrer.
			own := ask(w, http.MethodPost, "/"+path, "a=b", http.Header{"Viewer": {"operator"}, "Origin": {"http://example.com"}})
			if strings.Contains(own.Body.String(), "another site") {
				t.Errorf("/%s from the console itself: status %d", path, own.Code)
			}
			if got := ask(w, http.MethodPost, "/"+path, "a=b", http.Header{"Viewer": {"acme-reader"}}); got.Code != http.StatusForbidden && got.Code != http.StatusMethodNotAllowed && got.Code != http.StatusNotFound {
				t.Errorf("/%s by a reader: status %d", path, got.Code)
			}
			if got := ask(w, http.MethodPost, "/"+path, "a=b", nil); got.Code != http.StatusForbidden {
				t.Errorf("/%s by nobody: status %d, want 403", path, got.Code)
			}
		}
	})
}

// No page shows a customer what is another's, whatever is asked for; nobody is shown a
// secret.
func TestTenants(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, withKeys(t))
		w.post("acme_news", "acme's post")
		w.post("globex_news", "globex's post")
		all, _ := engineui.Paths()
		for _, path := range all {
			queries := []string{"", "owner=globex"}
			for _, id := range w.ids {
				for _, name := range []string{"id", "name", "account", "endpoint", "monitor", "rule", "source", "event", "delivery", "cursor", "find", "keys"} {
					queries = append(queries, name+"="+id, name+"="+id+"&owner=globex")
				}
			}
			for _, q := range queries {
				status, body := get(w, "acme", "/"+path+"?"+q)
				// What was asked for may be repeated in a field, and only there.
				given, _ := url.ParseQuery(q)
				for _, values := range given {
					for _, given := range []string{`value="` + values[0] + `"`, "=" + url.QueryEscape(values[0]), "“" + strings.ReplaceAll(strings.ReplaceAll(values[0], "_", "_<wbr>"), "-", "-<wbr>") + "”", "“" + values[0] + "”"} {
						body = strings.ReplaceAll(body, given, "")
					}
				}
				if status == http.StatusOK && strings.Contains(strings.ToLower(body), "globex") {
					t.Errorf("acme is shown globex's on /%s?%s", path, q)
				}
				for _, viewer := range []string{"operator", "globex", "acme"} {
					if _, body := get(w, viewer, "/"+path+"?"+q); strings.Contains(body, hookSecret) {
						t.Errorf("%s is shown a secret on /%s?%s", viewer, path, q)
					}
				}
			}
		}
		if _, body := get(w, "operator", "/"); !strings.Contains(body, "globex&#39;s post") || !strings.Contains(body, "acme&#39;s post") {
			t.Error("an operator does not see the posts of all")
		}
		if _, body := get(w, "operator", "/credits?owner=globex"); !strings.Contains(body, "top_up") {
			t.Error("an operator does not see the credits of an owner")
		}
	})
}

func TestAllowLoopback(t *testing.T) {
	for _, row := range []struct {
		name, remote, host string
		header             http.Header
		allowed            bool
	}{
		{"from this machine", "127.0.0.1:4711", "127.0.0.1:8080", nil, true},
		{"by name", "127.0.0.1:4711", "localhost:8080", nil, true},
		{"by IPv6", "[::1]:4711", "[::1]:8080", nil, true},
		{"without a port", "127.0.0.1:4711", "127.0.0.1", nil, true},
		{"from elsewhere", "192.0.2.7:4711", "127.0.0.1:8080", nil, false},
		{"by a name that leads here", "127.0.0.1:4711", "evil.example.net", nil, false},
		{"by a name that begins like one", "127.0.0.1:4711", "localhost.evil.example.net", nil, false},
		{"through a proxy", "127.0.0.1:4711", "127.0.0.1:8080", http.Header{"X-Forwarded-For": {"192.0.2.7"}}, false},
		{"without an address", "", "127.0.0.1:8080", nil, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			who, err := engineui.AllowLoopback(&http.Request{RemoteAddr: row.remote, Host: row.host, Header: row.header})
			if (err == nil) != row.allowed || who.All != row.allowed || who.Write != row.allowed {
				t.Errorf("viewer %+v, error %v", who, err)
			}
		})
	}
}
