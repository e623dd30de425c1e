package endpoints_test

import (
	"strings"
	"testing"

	"github.com/streamwatch/streamwatch/deliver/endpoints"
)

// A scheme counts without case, as in any URL; what is allowed is told whole.
func TestSchemesOfURLs(t *testing.T) {
	for _, private := range []bool{false, true} {
		m, _ := newManager(t, func(c *endpoints.Config) { c.AllowPrivate = private })
		for url, want := range map[string]string{
			"nats://subject":            "",
			"NATS://subject":            "",
			"HTTPS://hooks.example.com": "",
			"HANDLER:default":           "want https",
			"ftp://hooks.example.com":   map[bool]string{false: "want https", true: "want https or http"}[private],
		} {
			err := m.Check(url, "")
			if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
				t.Errorf("%s, private addresses allowed %v: error %v, want %q", url, private, err, want)
			}
		}
	}
}
