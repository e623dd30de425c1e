package website_test

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/streamwatch/streamwatch/fetcher/internal/website"
)

func packed(t *testing.T, text string, newWriter func(io.Writer) io.WriteCloser) string {
	t.Helper()
	var b bytes.Buffer
	w := newWriter(&b)
	if _, err := io.WriteString(w, text); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestContentEncodings(t *testing.T) {
	const text = "<rss version='2.0'><channel><title>Привет</title></channel></rss>"
	gz := func(s string) string {
		return packed(t, s, func(w io.Writer) io.WriteCloser { return gzip.NewWriter(w) })
	}
	zl := func(s string) string {
		return packed(t, s, func(w io.Writer) io.WriteCloser { return zlib.NewWriter(w) })
	}
	raw := func(s string) string {
		return packed(t, s, func(w io.Writer) io.WriteCloser { f, _ := flate.NewWriter(w, 9); return f })
	}
	for _, tt := range []struct {
		name   string
		labels []string
		body   string
		want   string // "" for an error
	}{
		{"none", nil, text, text},
		{"an empty one", []string{""}, text, text},
		{"identity", []string{"identity"}, text, text},
		{"what is none", []string{"aws-chunked"}, text, text},
		{"a charset", []string{"UTF-8"}, text, text},
		{"none, by name", []string{"none"}, text, text},
		{"none, and not in ASCII", []string{"none"}, "Привет", "Привет"},
		{"gzip", []string{"gzip"}, gz(text), text},
		{"gzip in capitals", []string{"GZip"}, gz(text), text},
		{"x-gzip", []string{"x-gzip"}, gz(text), text},
		{"gzip and identity", []string{"gzip, identity"}, gz(text), text},
		{"aws-chunked and gzip", []string{"aws-chunked,gzip"}, gz(text), text},
		{"gzip and aws-chunked in two fields", []string{"gzip", "aws-chunked"}, gz(text), text},
		{"gzip without a label", nil, gz(text), text},
		{"gzip with another label", []string{"utf-8"}, gz(text), text},
		{"gzip of several members", []string{"gzip"}, gz(text[:20]) + gz(text[20:]), text},
		{"gzip of nothing", []string{"gzip"}, gz(""), ""},
		{"gzip twice", []string{"gzip, gzip"}, gz(gz(text)), text},
		{"gzip twice under one label", []string{"gzip"}, gz(gz(text)), text},
		{"gzip by its label alone", []string{"gzip"}, text, text},
		{"gzip by its label alone, after a byte order mark", []string{"gzip"}, "\ufeff" + text, "\ufeff" + text},
		{"deflate by its label alone", []string{"deflate"}, text, text},
		{"br by its label alone", []string{"br"}, text, text},
		{"deflate", []string{"deflate"}, zl(text), text},
		{"deflate without zlib", []string{"Deflate"}, raw(text), text},
		{"deflate in gzip", []string{"deflate, gzip"}, gz(zl(text)), text},
		{"gzip in deflate", []string{"gzip, deflate"}, raw(gz(text)), text},
		{"no body", []string{"gzip"}, "", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := read(t, tt.labels, tt.body)
			if err != nil || got != tt.want {
				t.Errorf("%q, %v, want %q", got, err, tt.want)
			}
		})
	}
	for _, tt := range []struct {
		name, label, body string
		want              error // an EncodingError if nil
	}{
		{"br", "br", "\x8b\x02\x80abc\x03", nil},
		{"zstd", "ZSTD", "\x28\xb5\x2f\xfd\x04\x00", nil},
		{"compress", "x-compress", "\x1f\x9d\x90a", nil},
		{"br in gzip", "br, gzip", gz("\x8b\x02\x80abc\x03"), nil},
		{"gzip cut short", "gzip", gz(text)[:40], io.ErrUnexpectedEOF},
		{"a head of gzip alone", "", "\x1f\x8b\x08", io.ErrUnexpectedEOF},
		{"deflate cut short", "deflate", zl(text)[:20], io.ErrUnexpectedEOF},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := read(t, []string{tt.label}, tt.body)
			var encoding website.EncodingError
			if tt.want == nil && !errors.As(err, &encoding) || tt.want != nil && !errors.Is(err, tt.want) {
				t.Errorf("error %v, want %v", err, tt.want)
			}
			if tt.want == nil && !strings.Contains(err.Error(), tt.label) {
				t.Errorf("error %v, want one that names %s", err, tt.label)
			}
		})
	}
}

// read reads a body from a server.
func read(t *testing.T, labels []string, body string) (string, error) {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if got := r.Header.Get("Accept-Encoding"); got != "gzip" {
			t.Errorf("Accept-Encoding %q, want gzip", got)
		}
		w.Header()["Content-Encoding"] = labels
		io.WriteString(w, body)
	}))
	defer s.Close()
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := website.RoundTrip(transport, req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	return string(text), err
}
