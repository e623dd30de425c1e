package webhook

import (
	"bytes"
	"io"
	"net/http"
	"strconv"
	"strings"
)

// brief reads the usual answer without net/http's parser, which makes many allocations: a
// success with a body of known length, which is all that is in the buffer. For any other
// answer it returns nil, and consumes nothing. The header is left out.
func (k *conn) brief() *http.Response {
	b, _ := k.r.Peek(k.r.Buffered())
	status, body, ok := parseBrief(b)
	if !ok {
		return nil
	}
	resp := &http.Response{StatusCode: status, ContentLength: int64(len(body)), Body: http.NoBody}
	if len(body) > 0 {
		resp.Body = io.NopCloser(bytes.NewReader(bytes.Clone(body)))
	}
	k.r.Discard(len(b)) // cannot fail: b is in the buffer
	return resp
}

// parseBrief accepts only strict HTTP/1.1 (RFC 9112), and nothing that another parser might
// read differently.
func parseBrief(b []byte) (status int, body []byte, ok bool) {
	const version = "HTTP/1.1 "
	line, rest, ok := cutLine(b)
	if !ok || len(line) < len(version)+3 || string(line[:len(version)]) != version || line[len(version)] != '2' {
		return 0, nil, false
	}
	if status, ok = digits(line[len(version) : len(version)+3]); !ok || len(line) > len(version)+3 && line[len(version)+3] != ' ' {
		return 0, nil, false
	}
	length := -1
	for {
		if line, rest, ok = cutLine(rest); !ok {
			return 0, nil, false
		}
		if len(line) == 0 {
			break
		}
		colon := bytes.IndexByte(line, ':')
		if colon < 1 || !isName(line[:colon]) {
			return 0, nil, false
		}
		switch name, value := line[:colon], bytes.Trim(line[colon+1:], " \t"); {
		case is(name, "Content-Length"):
			if length >= 0 {
				return 0, nil, false
			}
			if length, ok = digits(value); !ok {
				return 0, nil, false
			}
		case is(name, "Connection"):
			if !is(value, "keep-alive") {
				return 0, nil, false
			}
		case is(name, "Transfer-Encoding"), is(name, "Upgrade"), is(name, "Trailer"):
			return 0, nil, false
		}
	}
	if status == 204 && length < 0 {
		length = 0
	}
	if length != len(rest) || status == 204 && length > 0 {
		return 0, nil, false
	}
	return status, rest, true
}

// cutLine cuts the first line off. It has to end with CR LF and be printable ASCII with
// tabs.
func cutLine(b []byte) (line, rest []byte, ok bool) {
	end := bytes.IndexByte(b, '\n')
	if end < 1 || b[end-1] != '\r' {
		return nil, nil, false
	}
	line = b[:end-1]
	for _, c := range line {
		if c < ' ' && c != '\t' || c > '~' {
			return nil, nil, false
		}
	}
	return line, b[end+1:], true
}

// isName reports whether b has only letters, digits and hyphens, as the usual names do.
func isName(b []byte) bool {
	for _, c := range b {
		if (c|0x20 < 'a' || c|0x20 > 'z') && (c < '0' || c > '9') && c != '-' {
			return false
		}
	}
	return true
}

// is reports whether b is text, without regard to case.
func is(b []byte, text string) bool { return len(b) == len(text) && strings.EqualFold(string(b), text) }

// digits parses a number of one to five digits.
func digits(b []byte) (n int, ok bool) {
	if len(b) < 1 || len(b) > 5 {
		return 0, false
	}
	for _, c := range b {
		if c < '0' || c > '9' {
			return 0, false
		}
	}
	n, err := strconv.Atoi(string(b))
	return n, err == nil
}
