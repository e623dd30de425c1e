package feed_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/streamwatch/streamwatch/fetcher/feed"
	"github.com/streamwatch/streamwatch/secret"
)

func TestWebSubConfig(t *testing.T) {
	const good = "https://watch.example.com/websub"
	key := secret.Value(strings.Repeat("k", 32))
	for _, c := range []struct {
		name    string
		private bool
		cfg     feed.WebSubConfig
		want    []string // of the error; none is no error
	}{
		{"good", false, feed.WebSubConfig{Callback: good, Secret: key}, nil},
		{"on a port", false, feed.WebSubConfig{Callback: "https://watch.example.com:8443", Secret: key}, nil},
		{"private", true, feed.WebSubConfig{Callback: "http://127.0.0.1:8080/websub", Secret: key}, nil},
		{"no callback", false, feed.WebSubConfig{Secret: key}, []string{"Callback", "missing"}},
		{"no TLS", false, feed.WebSubConfig{Callback: "http://watch.example.com/", Secret: key}, []string{"Callback", "http://watch.example.com/", "https://"}},
		{"a query", false, feed.WebSubConfig{Callback: good + "?key=canary", Secret: key}, []string{"Callback", good}},
		{"a password", false, feed.WebSubConfig{Callback: "https://u:canary@watch.example.com/", Secret: key}, []string{"Callback"}},
		{"a fragment", false, feed.WebSubConfig{Callback: good + "#canary", Secret: key}, []string{"Callback"}},
		{"no host", false, feed.WebSubConfig{Callback: "/websub", Secret: key}, []string{"Callback", "/websub"}},
		{"a host that hubs cannot reach", false, feed.WebSubConfig{Callback: "https://127.0.0.1/websub", Secret: key}, []string{"Callback", "reach"}},
		{"no secret", false, feed.WebSubConfig{Callback: good}, []string{"Secret", "0 bytes", "32"}},
		{"a short secret", false, feed.WebSubConfig{Callback: good, Secret: "canary"}, []string{"Secret", "6 bytes", "32"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			f, err := feed.New(feed.Config{AllowPrivate: c.private})
			if err != nil {
				t.Fatal(err)
			}
			c.cfg.Fetcher = f
			w, err := feed.NewWebSub(c.cfg)
			if (err == nil) != (c.want == nil) {
				t.Fatalf("error %v, want one with %q", err, c.want)
			}
			if err != nil {
				for _, part := range c.want {
					if !strings.Contains(err.Error(), part) {
						t.Errorf("%q does not name %q", err, part)
					}
				}
				if strings.Contains(err.Error(), "canary") {
					t.Errorf("%q tells a secret", err)
				}
				return
			}
			for _, verb := range []string{"%v", "%+v", "%#v"} {
				if s := fmt.Sprintf(verb, w); strings.Contains(s, string(key)) {
					t.Errorf("%s of a WebSub tells its secret", verb)
				}
			}
			if _, err := feed.NewWebSub(c.cfg); err == nil {
				t.Error("a Fetcher may have two")
			}
		})
	}
	if _, err := feed.NewWebSub(feed.WebSubConfig{Callback: good, Secret: key}); err == nil || !strings.Contains(err.Error(), "Fetcher") {
		t.Errorf("without a Fetcher: %v", err)
	}
}
