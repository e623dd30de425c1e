package netguard_test

import (
	"errors"
	"net"
	"net/netip"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/streamwatch/streamwatch/internal/invalid"
	"github.com/streamwatch/streamwatch/internal/netguard"
	"github.com/streamwatch/streamwatch/internal/netguard/ssrftest"
)

// long is a URL of n bytes.
func long(n int) string {
	const head = "https://example.com/"
	return head + strings.Repeat("a", n-len(head))
}

func TestCheckURL(t *testing.T) {
	const label63 = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
	tests := []struct {
		name, url       string
		public, private bool // accepted without and with the opt-out
	}{
		{"https", "https://example.com/hook", true, true},
		{"no path", "https://example.com", true, true},
		{"query without a path", "https://example.com?x=1", true, true},
		{"port 443", "https://example.com:443/", true, true},
		{"port 8443", "https://example.com:8443/", true, true},
		{"2,048 bytes", long(2048), true, true},
		{"63 bytes in a label", "https://" + label63 + ".com/", true, true},
		{"public IPv6", "https://[2606:4700:4700::1111]/", true, true},
		{"public IPv4 mapped into IPv6", "https://[::ffff:8.8.8.8]/", true, true},
		{"a special name inside another", "https://localhost.example.com/", true, true},
		{"underscore", "https://some_name.example.com/", true, true},
		{"underscores at the ends and alone", "https://_a_._.example_com.com/", true, true},
		{"hyphens at the ends of labels", "https://-a.b-.c-.com/", true, true},
		{"two hyphens in third place", "https://qa--blog.example.com/", true, true},
		{"a label of hyphens", "https://---.example.com/", true, true},
		{"an xn-- form", "https://xn--bcher-kva.example.com/", true, true},
		{"name ends with a dot", "https://example.com./", true, true},
		{"name ends with a dot before a port", "https://example.com.:8443/", true, true},
		{"253 bytes and a dot", "https://" + strings.Repeat(label63+".", 3) + label63[2:] + "./", true, true},
		{"a label of digits", "https://163.com/", true, true},
		{"an address inside a name", "https://127.0.0.1.example.com/", true, true},
		{"a last label that begins with a digit", "https://a.1b/", true, true},
		{"a last label that is no number", "https://a.0xg/", true, true},

		{"http", "http://example.com/", false, true},
		{"port 9000", "https://example.com:9000/", false, true},
		{"port 80", "http://example.com:80/", false, true},
		{"loopback", "http://127.0.0.1:8080/", false, true},
		{"loopback IPv6", "http://[::1]:8080/", false, true},
		{"private network", "https://10.0.0.1/", false, true},
		{"unique local", "https://[fd00::1]/", false, true},
		{"shared address space", "https://100.64.0.1/", false, true},
		{"localhost", "http://localhost:8080/", false, true},
		{"one label", "http://receiver/", false, true},
		{"cluster name", "http://receiver.default.svc.cluster.local/", false, true},
		{"reserved for tests", "https://a.test/", false, true},
		{"reserved for examples", "https://a.example/", false, true},

		{"empty", "", false, false},
		{"2,049 bytes", long(2049), false, false},
		{"64 bytes in a label", "https://a" + label63 + ".com/", false, false},
		{"ftp", "ftp://example.com/", false, false},
		{"no scheme", "example.com/hook", false, false},
		{"user", "https://user@example.com/", false, false},
		{"fragment", "https://example.com/#x", false, false},
		{"empty fragment", "https://example.com/#", false, false},
		{"port 0", "https://example.com:0/", false, false},
		{"port 65536", "https://example.com:65536/", false, false},
		{"port with a leading zero", "https://example.com:0443/", false, false},
		{"port with a sign", "https://example.com:+443/", false, false},
		{"colon without a port", "https://example.com:/", false, false},
		{"name of one label ends with a dot", "https://receiver./", false, true},
		{"localhost ends with a dot", "https://localhost./", false, true},
		{"special name ends with a dot", "https://db.internal./", false, true},

		{"a dot alone", "https://./", false, false},
		{"two dots at the end", "https://example.com../", false, false},
		{"dot first", "https://.example.com/", false, false},
		{"254 bytes", "https://" + strings.Repeat(label63+".", 3) + label63[1:] + "/", false, false},
		{"64 bytes in a label before a dot", "https://a" + label63 + "./", false, false},
		{"address ends with a dot", "https://127.0.0.1./", false, false},
		{"empty label", "https://a..b.com/", false, false},
		{"other punctuation", "https://a!b.com/", false, false},
		{"escaped underscore", "https://a%5Fb.com/", false, false},
		{"number in decimal", "https://2130706433/", false, false},
		{"number in hexadecimal", "https://0x7f.1/", false, false},
		{"short address", "https://127.1/", false, false},
		{"octal address", "https://0177.0.0.1/", false, false},
		{"hexadecimal in capitals", "https://0X7F000001/", false, false},
		{"nothing in hexadecimal", "https://a.0x/", false, false},
		{"public number in decimal", "https://134744072/", false, false},
		{"public number ends with a dot", "https://8.8.8.8./", false, false},
		{"five numbers", "https://1.2.3.4.5/", false, false},
		{"name that ends in a number", "https://example.1/", false, false},
		{"IPv4 in brackets", "https://[127.0.0.1]/", false, false},
		{"zone", "https://[fe80::1%25eth0]/", false, false},
		{"link-local", "https://169.254.169.254/", false, false},
		{"metadata inside a private range", "https://100.100.100.200/", false, false},
		{"metadata inside a unique local range", "https://[fd00:ec2::254]/", false, false},
		{"unspecified", "https://0.0.0.0/", false, false},
		{"multicast", "https://224.0.0.1/", false, false},
		{"backslash", `https://example.com\@127.0.0.1/`, false, false},
		{"backslash in the path", `https://example.com/a\b`, false, false},
		{"no slashes", "https:example.com", false, false},
		{"space", "https://example.com/a b", false, false},
		{"newline", "https://example.com/\r\nX: y", false, false},
		{"not ASCII in the path", "https://example.com/é", false, false},
		{"bad escape", "https://example.com/%zz", false, false},
		{"escaped host", "https://%65xample.com/", false, false},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			for allowPrivate, want := range map[bool]bool{false: tc.public, true: tc.private} {
				err := netguard.CheckURL(tc.url, allowPrivate)
				if (err == nil) != want {
					t.Errorf("CheckURL(%q, %v) = %v, want ok %v", tc.url, allowPrivate, err, want)
				}
				var fe *invalid.FieldError
				if err != nil && (!errors.As(err, &fe) || fe.Wire != "webhook_url" || fe.Allowed == "") {
					t.Errorf("error %#v, want a FieldError of webhook_url", err)
				}
			}
		})
	}
}

func TestCheckURLSpecialDomains(t *testing.T) {
	for _, top := range strings.Fields(`alt arpa example invalid local localhost onion test internal intranet private corp home
		homenet lan localdomain domain workgroup mail svc cluster consul belkin router i2p LOCAL Internal`) {
		if netguard.CheckURL("https://a.b."+top+"/", false) == nil {
			t.Errorf("a name under .%s was accepted", top)
		}
		if err := netguard.CheckURL("https://a."+top+".com/", false); err != nil {
			t.Errorf("%s in another place: %v", top, err)
		}
	}
}

func TestCheckURLHidesSecrets(t *testing.T) {
	tests := []struct{ url, want string }{
		{"http://example.com/hook?token=canary&v=canary", "http://example.com/hook?token=***&v=***"},
		{"http://example.com/hook?canary", "http://example.com/hook?***"},
		{"https://canary:canary@example.com/hook", "https://***@example.com/hook"},
		{"https://example.com/hook#canary", "https://example.com/hook#***"},
		{"https://exa mple.com/?token=canary", "***"},
		{"https://user:can/ary@example.com:x/", "***"},
		{"https:user:canary@example.com", "***"},
		{"https://exa mple.com/hook", "https://exa mple.com/hook"},
		{"javascript:alert(1)", "javascript:alert(1)"},
		{"//example.com/hook", "//example.com/hook"},
		{"https:///hook", "https:///hook"},
		{long(3000), long(200)},
		{"http://example.com/?" + strings.Repeat("é", 200), "http://example.com/?***"},
	}
	for _, tc := range tests {
		err := netguard.CheckURL(tc.url, false)
		var fe *invalid.FieldError
		if !errors.As(err, &fe) {
			t.Errorf("%q was not refused", tc.url)
			continue
		}
		if fe.Value != tc.want || strings.Contains(err.Error(), "canary") {
			t.Errorf("%q is shown as %q, want %q", tc.url, fe.Value, tc.want)
		}
	}
}

// urlShape is the policy a second time, written as one pattern.
var urlShape = regexp.MustCompile(`^(?i:https)://(?:\[([0-9a-fA-F:.]+)\]|((?:[a-zA-Z0-9_-]{1,63}\.)*[a-zA-Z0-9_-]{1,63})\.?)` +
	`(?::(?:443|8443))?` +
	`(?:/(?:[!$&-\[\]^_` + "`" + `a-z{|}~"<>]|%[0-9a-fA-F]{2})*)?(?:\?[!"$-\[\]-~]*)?$`)

var specialName = regexp.MustCompile(`(?i)(^|\.)(alt|arpa|example|invalid|local|localhost|onion|test|internal|intranet|private|corp|home|homenet|lan|` +
	`localdomain|domain|workgroup|mail|svc|cluster|consul|belkin|router|i2p)$|\.([0-9]+|0x[0-9a-f]*)$|^[^.]*$`)

func acceptable(raw string) bool {
	m := urlShape.FindStringSubmatch(raw)
	if m == nil || len(raw) > 2048 {
		return false
	}
	host := m[1] + m[2]
	if ip := net.ParseIP(host); ip != nil {
		if strings.HasPrefix(raw[len("https://")+len(host):], ".") {
			return false
		}
		if (m[1] != "") != strings.Contains(host, ":") {
			return false
		}
		if v4 := ip.To4(); v4 != nil {
			return ssrftest.Public(netip.AddrFrom4([4]byte(v4)))
		}
		return ssrftest.Public(netip.AddrFrom16([16]byte(ip)))
	}
	return m[2] != "" && len(host) <= 253 && !specialName.MatchString(host)
}

// FuzzCheckURL compares the policy with a second implementation, and checks
// what every accepted URL has in common however it is parsed.
func FuzzCheckURL(f *testing.F) {
	for _, v := range ssrftest.Vectors(f, "url") {
		f.Add(v.Input)
	}
	for _, s := range []string{
		"https://example.com:8443/a?b=c#d", "http://localhost:8080/", "https://u:p@[::1%25lo]:443/", "https://[2606::1]", "https://a.b?c",
		"https://example.com/%zz", "https://example.com/[x]", "https://[::ffff:8.8.8.8]/", "https://[::ffff:808:808]/",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		err := netguard.CheckURL(raw, false)
		if got, want := err == nil, acceptable(raw); got != want {
			t.Fatalf("CheckURL(%q) = %v, the reference says %v", raw, err, want)
		}
		if err == nil && netguard.CheckURL(raw, true) != nil {
			t.Fatalf("%q is refused with the opt-out only", raw)
		}
		if shown := netguard.RedactURL(raw); len(shown) > 200 {
			t.Fatalf("%q is shown with %d bytes", raw, len(shown))
		}
		if netguard.CheckURL(raw, true) != nil {
			return
		}
		u, err := url.Parse(raw)
		if err != nil || u.User != nil || u.Fragment != "" || u.Opaque != "" || u.Hostname() == "" {
			t.Fatalf("%q was accepted: %+v, %v", raw, u, err)
		}
		if port := u.Port(); port != "" {
			if n, err := strconv.Atoi(port); err != nil || n < 1 || n > 65535 {
				t.Fatalf("%q was accepted with port %q", raw, port)
			}
		}
	})
}
