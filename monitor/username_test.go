package monitor

import (
	"strings"
	"testing"
)

// Usernames are compared without case, URLs of feeds by their path's.
func TestKey(t *testing.T) {
	for _, c := range []struct {
		a, b string
		same bool
	}{
		{"NASA", "@nasa", true},
		{"Bob@Example.com", "bob@example.com", true},
		{"feeds:NASA", "feeds:nasa", true},
		{"HTTPS://Example.COM/Feed", "https://example.com/Feed", true},
		{"https://example.com/Feed", "https://example.com/feed", false},
		{"https://example.com?A", "https://example.com?a", false},
		{"https://Example.com", "https://example.com", true},
		{"feeds:https://Example.com/A", "feeds:https://example.com/A", true},
		{"feeds:https://example.com/A", "feeds:https://example.com/a", false},
	} {
		if got := Key(c.a) == Key(c.b); got != c.same {
			t.Errorf("%q and %q: the same is %t, want %t", c.a, c.b, got, c.same)
		}
	}
}

func TestValidUsername(t *testing.T) {
	for name, want := range map[string]bool{
		"nasa": true, "a@b.example": true, "did:plc:abc": true, "": false, "a b": false, "a/b": false, "ä": false,
		strings.Repeat("a", maxUsername): true, strings.Repeat("a", maxUsername+1): false,
		"https://example.com/feed?a=b&c=%20;d,e": true, "http://[2001:db8::1]:8080/": true, "feeds:https://example.com/": true,
		"ftp://example.com/": false, "://example.com/": false, "a/b:https://example.com/": false, "a:b:https://example.com/": true, "a:/b:https://example.com/": false, ":https://example.com/": false,
		"https://": false, "https://example.com/a b": false, "https://example.com/\n": false, "https://exämple.com/": false,
		`https://example.com/"`: false, "https://example.com/<>": false, `https://example.com\`: false,
		"https://example.com/" + strings.Repeat("a", maxURL-20): true, "https://example.com/" + strings.Repeat("a", maxURL-19): false,
	} {
		if got := validUsername(name); got != want {
			t.Errorf("%.60q of %d bytes is valid: %t, want %t", name, len(name), got, want)
		}
	}
}
