package upstream

import (
	"hash/maphash"
	"net/http"
	"strings"
	"time"
)

// fingerprint identifies an answer's content, to compare answers to the same request.
type fingerprint struct {
	etag     string // the ETag header; "" if missing or unusable
	modified string // the Last-Modified header; "" if missing or unusable
	size     int    // of the body, in bytes
	sum      uint64 // hash of the body
	links    uint64 // hash of the Link headers
}

// seed is random for each process, so a server cannot construct two bodies with the same hash.
// Two different bodies of equal length have the same hash with probability 2^-64. At a million
// changed pages per second, that happens once in 500,000 years.
var seed = maphash.MakeSeed()

// fingerprint returns the answer's fingerprint, and computes it at the first call. It includes
// the Link headers because some servers put the next page's cursor there. It does not allocate.
func (r *Response) fingerprint() *fingerprint {
	if r.hashed {
		return &r.print
	}
	r.hashed = true
	r.print.size = len(r.Body)
	r.print.sum = maphash.Bytes(seed, r.Body)
	var links maphash.Hash
	links.SetSeed(seed)
	for _, link := range r.Header["Link"] {
		links.WriteString(link)
		links.WriteByte(0)
	}
	r.print.links = links.Sum64()
	r.print.etag, r.print.modified = r.validators()
	return &r.print
}

// same reports whether the bodies and links are the same. It does not compare the validators.
func (f *fingerprint) same(other *fingerprint) bool {
	return f.size == other.size && f.sum == other.sum && f.links == other.links
}

// clone returns a copy that shares no memory with the answer's header.
func (f *fingerprint) clone() fingerprint {
	c := *f
	c.etag, c.modified = strings.Clone(f.etag), strings.Clone(f.modified)
	return c
}

// header returns the conditional header for the next request, or nil if there is no validator.
// It prefers the entity tag to the time, because the tag is more accurate (RFC 9110, 13.1.3).
func (f *fingerprint) header() http.Header {
	switch {
	case f.etag != "":
		return http.Header{"If-None-Match": {f.etag}}
	case f.modified != "":
		return http.Header{"If-Modified-Since": {f.modified}}
	}
	return nil
}

// maxValidator is the length of the longest entity tag that is kept, in bytes.
const maxValidator = 256

// entityTag returns s if it is a weak or strong entity tag (RFC 9110, 8.8.3), otherwise "". For
// example, it returns "" for *, because If-None-Match: * matches any content.
func entityTag(s string) string {
	opaque := strings.TrimPrefix(s, "W/")
	if len(s) > maxValidator || len(opaque) < 2 || opaque[0] != '"' || opaque[len(opaque)-1] != '"' ||
		strings.ContainsAny(opaque[1:len(opaque)-1], "\" \t") {
		return ""
	}
	return s
}

// settled is the minimum age of a Last-Modified that is sent back. Some servers send the newest post's
// time as Last-Modified. If an older post appears late, up to three minutes after its own time,
// the page changes and such a Last-Modified does not.
const settled = 5 * time.Minute

// validators returns the answer's ETag and Last-Modified, or "" for one that is not usable. With a
// Last-Modified within a second of the answer neither is: the content may have been replaced
// within that second, and the ETag of nginx is its Last-Modified and its size (RFC 9110, 8.8.2.2).
func (r *Response) validators() (etag, modified string) {
	etag, modified = entityTag(r.Header.Get("Etag")), r.Header.Get("Last-Modified")
	if modified == "" {
		return etag, ""
	}
	t, err := http.ParseTime(modified)
	if err != nil {
		return etag, ""
	}
	date := r.ServerTime
	if date.IsZero() {
		date = time.Now() // RFC 9110, 6.6.1
	}
	switch age := date.Sub(t); {
	case age <= time.Second:
		return "", ""
	case age < settled || r.ServerTime.IsZero():
		return etag, ""
	}
	return etag, modified
}
