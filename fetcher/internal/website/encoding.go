package website

import (
	"bufio"
	"bytes"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"unicode"
)

// RoundTrip makes a request for a document. The answer's body reads as it is without its content
// encoding. The error of Read is an EncodingError if that is not supported.
func RoundTrip(t http.RoundTripper, req *http.Request) (*http.Response, error) {
	req.Header.Set("Accept-Encoding", "gzip") // keeps the transport from undoing what the label says
	resp, err := t.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	resp.Body = &body{ReadCloser: resp.Body, label: strings.Join(resp.Header.Values("Content-Encoding"), ", ")}
	return resp, nil
}

// EncodingError is a Content-Encoding that cannot be undone.
type EncodingError string

func (e EncodingError) Error() string {
	return fmt.Sprintf("the content encoding %.100q: want gzip, deflate or none", string(e))
}

// body reads a body without its content encoding.
type body struct {
	io.ReadCloser
	label string
	plain io.Reader // nil before the first Read
	err   error     // of the first Read
}

func (b *body) Read(p []byte) (int, error) {
	if b.plain == nil && b.err == nil {
		b.plain, b.err = decode(b.ReadCloser, b.label)
	}
	if b.err != nil {
		return 0, b.err
	}
	return b.plain.Read(p)
}

const (
	maxEncodings = 2  // of one body, as of a page that is compressed twice by mistake
	headSize     = 16 // bytes that tell text from compressed data
)

// decode undoes the content encodings of a body. The bytes tell gzip and text, because labels are
// often wrong, and the label tells the rest. A label that is no encoding (aws-chunked, UTF-8)
// means nothing.
func decode(r io.Reader, label string) (io.Reader, error) {
	names := strings.FieldsFunc(strings.ToLower(label), func(r rune) bool { return r == ',' || r == ' ' || r == '\t' })
	for range maxEncodings {
		b := bufio.NewReader(r)
		head, _ := b.Peek(headSize) // an error comes again
		switch {
		case bytes.HasPrefix(head, []byte("\x1f\x8b\x08")): // RFC 1952, section 2.3.1
			z, err := gzip.NewReader(b)
			if err != nil {
				return nil, err
			}
			r = z
		case isText(head):
			return b, nil
		case slices.ContainsFunc(names, func(s string) bool { return unsupported[s] }):
			return nil, EncodingError(label)
		case slices.Contains(names, "deflate"):
			names = nil
			if r = flate.NewReader(b); isZlib(head) { // some servers leave out what RFC 1950 adds
				z, err := zlib.NewReader(b)
				if err != nil {
					return nil, err
				}
				r = z
			}
		default:
			return b, nil
		}
	}
	return r, nil
}

// unsupported are the content encodings of the IANA registry that need another library.
var unsupported = map[string]bool{"br": true, "zstd": true, "compress": true, "x-compress": true, "dcb": true, "dcz": true}

// isText reports whether a body that begins with head is text, by its ASCII characters.
func isText(head []byte) bool {
	return !bytes.ContainsFunc(bytes.TrimPrefix(head, []byte("\ufeff")), func(r rune) bool {
		return r > '~' || r < ' ' && !unicode.IsSpace(r)
	})
}

// isZlib reports whether head begins with a header of zlib (RFC 1950, section 2.2).
func isZlib(head []byte) bool {
	return len(head) >= 2 && head[0]&0x0f == 8 && (int(head[0])<<8+int(head[1]))%31 == 0
}
