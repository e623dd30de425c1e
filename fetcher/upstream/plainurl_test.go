package upstream_test

import (
	"testing"

	"github.com/streamwatch/streamwatch/fetcher/upstream"
)

func TestPlainURL(t *testing.T) {
	for given, want := range map[string]string{
		"wss://me:hunter2@example.com/subscribe?token=hunter2#hunter2": "wss://example.com/subscribe",
		"https://example.com:8443":                                     "https://example.com:8443",
		"wss://hunter2@\x7f":                                           "***",
		"":                                                             "",
	} {
		if got := upstream.PlainURL(given); got != want {
			t.Errorf("PlainURL(%q) = %q, want %q", given, got, want)
		}
	}
}
