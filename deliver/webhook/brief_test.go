package webhook

import (
	"bufio"
	"bytes"
	"io"
	"net/http"
	"strings"
	"testing"
)

// crlf joins lines.
func crlf(lines ...string) string { return strings.Join(lines, "\r\n") }

var briefRows = []struct {
	name, answer string
	brief        bool
}{
	{"empty", crlf("HTTP/1.1 200 OK", "Date: Sat, 21 Nov 2026 12:00:00 GMT", "Content-Length: 0", "", ""), true},
	{"with a body", crlf("HTTP/1.1 202 Accepted", "content-length: 2", "Connection: Keep-Alive", "", "ok"), true},
	{"no content", crlf("HTTP/1.1 204 No Content", "Server: nginx", "", ""), true},
	{"no reason", crlf("HTTP/1.1 200", "Content-Length: 0", "", ""), true},
	{"a body that is not whole", crlf("HTTP/1.1 200 OK", "Content-Length: 3", "", "ok"), false},
	{"more than the body", crlf("HTTP/1.1 200 OK", "Content-Length: 1", "", "ok"), false},
	{"a name of one letter", crlf("HTTP/1.1 200 OK", "X: 1", "Content-Length: 0", "", ""), true},
	{"a name with digits", crlf("HTTP/1.1 200 OK", "Az-09: 1", "Content-Length: 0", "", ""), true},
	{"a name with an underscore", crlf("HTTP/1.1 200 OK", "X_A: 1", "Content-Length: 0", "", ""), false},
	{"a name with a brace", crlf("HTTP/1.1 200 OK", "X{: 1", "Content-Length: 0", "", ""), false},
	{"no name", crlf("HTTP/1.1 200 OK", ": 1", "Content-Length: 0", "", ""), false},
	{"no length", crlf("HTTP/1.1 200 OK", "", ""), false},
	{"headers not whole", crlf("HTTP/1.1 200 OK", "Content-Length: 0", ""), false},
	{"two lengths", crlf("HTTP/1.1 200 OK", "Content-Length: 0", "Content-Length: 0", "", ""), false},
	{"a signed length", crlf("HTTP/1.1 200 OK", "Content-Length: +0", "", ""), false},
	{"chunks", crlf("HTTP/1.1 200 OK", "Transfer-Encoding: chunked", "", "0", "", ""), false},
	{"chunks and a length", crlf("HTTP/1.1 200 OK", "Content-Length: 5", "Transfer-Encoding: chunked", "", "0", "", ""), false},
	{"the last answer", crlf("HTTP/1.1 200 OK", "Content-Length: 0", "Connection: close", "", ""), false},
	{"HTTP/1.0", crlf("HTTP/1.0 200 OK", "Content-Length: 0", "", ""), false},
	{"an error", crlf("HTTP/1.1 503 Busy", "Content-Length: 0", "", ""), false},
	{"informational", crlf("HTTP/1.1 100 Continue", "", "HTTP/1.1 200 OK", "Content-Length: 0", "", ""), false},
	{"a folded line", crlf("HTTP/1.1 200 OK", "Content-Length: 0", " 1", "", ""), false},
	{"a space before the colon", crlf("HTTP/1.1 200 OK", "Content-Length : 0", "", ""), false},
	{"line feeds alone", "HTTP/1.1 200 OK\nContent-Length: 0\n\n", false},
	{"a NUL", crlf("HTTP/1.1 200 OK", "X-A: \x00", "Content-Length: 0", "", ""), false},
	{"a long status", crlf("HTTP/1.1 2000 OK", "Content-Length: 0", "", ""), false},
	{"a body beside 204", crlf("HTTP/1.1 204 No Content", "Content-Length: 2", "", "ok"), false},
}

func TestBriefAnswers(t *testing.T) {
	for _, row := range briefRows {
		t.Run(row.name, func(t *testing.T) {
			if _, _, ok := parseBrief([]byte(row.answer)); ok != row.brief {
				t.Errorf("brief = %v, want %v", ok, row.brief)
			}
		})
	}
}

// What is taken for brief net/http reads in the same way, to the last byte.
func FuzzBriefAnswer(f *testing.F) {
	for _, row := range briefRows {
		f.Add([]byte(row.answer))
	}
	f.Fuzz(func(t *testing.T, answer []byte) {
		status, body, ok := parseBrief(answer)
		if !ok {
			return
		}
		r := bufio.NewReader(bytes.NewReader(answer))
		resp, err := http.ReadResponse(r, nil)
		if err != nil {
			t.Fatalf("%q: net/http: %v", answer, err)
		}
		got, err := io.ReadAll(resp.Body)
		if err != nil || !bytes.Equal(got, body) || resp.StatusCode != status || resp.Close || r.Buffered() > 0 {
			t.Fatalf("%q: %d %q, net/http: %d %q, close %v, %d left, %v", answer, status, body, resp.StatusCode, got, resp.Close, r.Buffered(), err)
		}
	})
}
