package netguard_test

import (
	"net/netip"
	"testing"

	"github.com/streamwatch/streamwatch/internal/netguard"
	"github.com/streamwatch/streamwatch/internal/netguard/ssrftest"
)

func TestVectorsAreComplete(t *testing.T) {
	got := map[string]int{}
	for _, v := range ssrftest.Vectors(t, "") {
		got[v.Kind]++
	}
	for kind, want := range map[string]int{"ip": 98, "url": 86, "dns": 15, "redirect": 8, "conf": 8} {
		if got[kind] != want {
			t.Errorf("%d vectors of kind %s, want %d", got[kind], kind, want)
		}
	}
}

func TestAddressVectors(t *testing.T) {
	for _, v := range ssrftest.Vectors(t, "ip") {
		t.Run(v.ID+" "+v.Input, func(t *testing.T) {
			a := netip.MustParseAddr(v.Input)
			if err := netguard.PublicAddr(a); (err == nil) != (v.Expect == "allow") {
				t.Errorf("PublicAddr = %v, want %s: %s", err, v.Expect, v.Why)
			}
			var g netguard.Guard
			if err := g.Control("tcp", netip.AddrPortFrom(a, 443).String(), nil); (err == nil) != (v.Expect == "allow") {
				t.Errorf("Control = %v, want %s: %s", err, v.Expect, v.Why)
			}
		})
	}
}

func TestURLVectors(t *testing.T) {
	for _, v := range ssrftest.Vectors(t, "url") {
		t.Run(v.ID, func(t *testing.T) {
			if err := netguard.CheckURL(v.Input, false); (err == nil) != (v.Expect == "allow") {
				t.Errorf("CheckURL(%q) = %v, want %s: %s", v.Input, err, v.Expect, v.Why)
			}
		})
	}
}

// The opt-out opens private networks, on any port; metadata services it does not.
func TestAllowPrivate(t *testing.T) {
	g := netguard.Guard{AllowPrivate: true}
	for address, want := range map[string]bool{
		"10.20.0.5:443": true, "10.20.0.5:80": true, "[fd00::1]:80": true, "169.254.169.254:80": false, "[fd00:ec2::254]:80": false,
		"[fd00:c1::a9fe:a9fe]:80": false, "[fd00:a9fe:a9fe::1]:80": false, "[fd00:100::100:200]:80": false} {
		if err := g.Control("tcp", address, nil); (err == nil) != want {
			t.Errorf("Control(%s) = %v, want ok %v", address, err, want)
		}
	}
	for url, want := range map[string]bool{"https://10.20.0.5/": true, "http://10.20.0.5:81/": true, "https://169.254.169.254/": false} {
		if err := netguard.CheckURL(url, true); (err == nil) != want {
			t.Errorf("CheckURL(%s) = %v, want ok %v", url, err, want)
		}
	}
}
