package ssrftest

import (
	_ "embed"
	"net/netip"
	"regexp"
	"strings"
	"testing"
)

//go:embed ssrf_vectors.tsv
var table string

// Vector is a row of ssrf_vectors.tsv: an attempt to reach a forbidden address, or an allowed
// address next to a forbidden one.
type Vector struct {
	ID, Kind, Input, Resolves, Expect, Why string
}

// Vectors reads the rows of a kind, or all rows if kind is "".
func Vectors(t testing.TB, kind string) []Vector {
	t.Helper()
	var out []Vector
	for _, line := range strings.Split(strings.TrimSpace(table), "\n")[1:] {
		c := strings.Split(line, "\t")
		if len(c) != 8 {
			t.Fatalf("%d columns in %q, want 8", len(c), line)
		}
		if v := (Vector{c[0], c[1], c[2], c[3], c[4], c[6] + " " + c[7]}); kind == "" || v.Kind == kind {
			out = append(out, v)
		}
	}
	if len(out) == 0 {
		t.Fatalf("no vectors of kind %q", kind)
	}
	return out
}

var (
	specialV4 = regexp.MustCompile(`^(0|10|127|22[4-9]|23\d|24\d|25\d)\.|^100\.(6[4-9]|[7-9]\d|1[01]\d|12[0-7])\.|^169\.254\.|` +
		`^172\.(1[6-9]|2\d|3[01])\.|^192\.0\.[02]\.|^192\.31\.196\.|^192\.52\.193\.|^192\.88\.99\.|^192\.168\.|^192\.175\.48\.|` +
		`^198\.1[89]\.|^198\.51\.100\.|^203\.0\.113\.|^168\.63\.129\.16$`)
	globalV6  = regexp.MustCompile(`^[23]`)
	specialV6 = regexp.MustCompile(`^2001:0[01]|^2001:0db8:|^2002:|^2620:004f:8000:|^3fff:0|^.{19}:0[02]00:5efe:`)
)

// Public is a second implementation of netguard.PublicAddr. It uses the text of the address.
func Public(a netip.Addr) bool {
	s := a.StringExpanded()
	if a.Is4In6() {
		s = a.Unmap().String()
	}
	switch {
	case strings.Contains(s, "%"):
		return false
	case strings.Contains(s, "."):
		return !specialV4.MatchString(s)
	}
	return globalV6.MatchString(s) && !specialV6.MatchString(s)
}
