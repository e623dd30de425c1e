package website_test

import (
	"net/url"
	"strings"
	"testing"

	"github.com/streamwatch/streamwatch/fetcher/internal/website"
)

func TestHost(t *testing.T) {
	const no = "" // not allowed
	for _, tt := range []struct{ name, url, public, private string }{
		{"a name", "https://Example.COM/", "example.com", "example.com"},
		{"the scheme's port", "http://example.com:80/", "example.com", "example.com"},
		{"another port", "http://example.com:443/", "example.com:443", "example.com:443"},
		{"a port that is not open", "https://example.com:9/", no, "example.com:9"},
		{"an underscore", "https://some_name.example.com/", "some_name.example.com", "some_name.example.com"},
		{"hyphens at the ends of labels", "https://-a.b-.example.com/", "-a.b-.example.com", "-a.b-.example.com"},
		{"hyphens in third place", "https://qa--blog.example.com/", "qa--blog.example.com", "qa--blog.example.com"},
		{"a last dot", "https://example.com.:8443/", "example.com:8443", "example.com:8443"},
		{"an xn-- form", "https://XN--Bcher-KVA.example.com/", "xn--bcher-kva.example.com", "xn--bcher-kva.example.com"},
		{"an xn-- form that IDNA does not know", "https://xn--0.example.com/", "xn--0.example.com", "xn--0.example.com"},
		{"an international name", "https://Bücher.example.com/", "xn--bcher-kva.example.com", "xn--bcher-kva.example.com"},
		{"an international name with an underscore", "https://a_ü.example.com/", "xn--a_-yka.example.com", "xn--a_-yka.example.com"},
		{"an international name with hyphens", "https://-ü--.example.com/", "xn------hoa.example.com", "xn------hoa.example.com"},
		{"an ideographic last dot", "https://example.com。/", "example.com", "example.com"},
		{"a public address", "https://8.8.8.8/", "8.8.8.8", "8.8.8.8"},
		{"a public address in IPv6", "https://[2606:4700::1111]:8080/", "[2606:4700::1111]:8080", "[2606:4700::1111]:8080"},

		{"loopback", "https://127.0.0.1/", no, "127.0.0.1"},
		{"loopback with a last dot", "https://127.0.0.1./", no, "127.0.0.1"},
		{"loopback in wide digits", "https://１２７.0.0.1/", no, "127.0.0.1"},
		{"loopback in IPv6", "https://[::1]/", no, "[::1]"},
		{"localhost with a last dot", "https://localhost./", no, "localhost"},
		{"one label", "https://intranet/", no, "intranet"},
		{"a metadata service in wide digits", "https://１６９.254.169.254/", no, no},
		{"an address as a number", "https://2130706433/", no, no},
		{"an address in hexadecimal", "https://0x7f.1/", no, no},
		{"an address in fewer parts", "https://127.1/", no, no},
		{"a wide slash", "https://example.com／.evil.com/", no, no},
		{"a wide number sign", "https://example.com＃.evil.com/", no, no},
		{"what is no UTF-8", "https://a\xff.com/", no, no},
		{"a dot alone", "https://./", no, no},
		{"a label of 64 bytes", "https://" + strings.Repeat("a", 64) + ".com/", no, no},
		{"an international label of 64 bytes", "https://ü" + strings.Repeat("a", 57) + ".com/", no, no},
	} {
		t.Run(tt.name, func(t *testing.T) {
			u, err := url.Parse(tt.url)
			if err != nil {
				t.Fatal(err)
			}
			for private, want := range map[bool]string{false: tt.public, true: tt.private} {
				if got, err := website.Host(u, private); got != want || (err == nil) != (want != no) {
					t.Errorf("private networks %t: %q, %v, want %q", private, got, err, want)
				}
			}
		})
	}
}
