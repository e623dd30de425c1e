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

// seed is random for each process, which keeps a server from constructing two bodies
// with the same hash. A changed body of equal length has the same hash by accident once
// in 2^64 times: at a million changed pages per second, once in 500,000 years.
var seed = maphash.MakeSeed()

// fingerprint returns the fingerprint of the body and of the Link header, which some
// servers use for paging. It is computed at the first call, without allocating.
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
	r.print.etag = entityTag(r.Header.Get("Etag"))
	r.print.modified = r.lastModified()
	return &r.print
}

// same compares the bodies and links, but not the validators.
func (f *fingerprint) same(other *fingerprint) bool {
	return f.size == other.size && f.sum == other.sum && f.links == other.links
}

// clone returns a copy that shares no memory with the answer's header.
func (f *fingerprint) clone() fingerprint {
	c := *f
	c.etag, c.modified = strings.Clone(f.etag), strings.Clone(f.modified)
	return c
}

// header returns the conditional header for the next request, or nil if there is no
// validator. It prefers the entity tag, which is more exact (RFC 9110, 13.1.3).
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

// entityTag returns s if it is a weak or strong entity tag (RFC 9110, 8.8.3), otherwise
// "". In particular it rejects a bare *, which would match any content.
func entityTag(s string) string {
	opaque := strings.TrimPrefix(s, "W/")
	if len(s) > maxValidator || len(opaque) < 2 || opaque[0] != '"' || opaque[len(opaque)-1] != '"' ||
		strings.ContainsAny(opaque[1:len(opaque)-1], "\" \t") {
		return ""
	}
	return s
}

// settled is the least age of a usable Last-Modified. A server may send the newest
// post's time as Last-Modified, and a post may appear below newer ones up to three
// minutes after its own time: the page then changes while Last-Modified does not.
const settled = 5 * time.Minute

// lastModified returns the answer's Last-Modified, or "" if it is younger than settled:
// the page may still change while Last-Modified stays the same, also because it counts
// whole seconds (RFC 9110, 8.8.2.2).
func (r *Response) lastModified() string {
	s := r.Header.Get("Last-Modified")
	if s == "" {
		return ""
	}
	t, err := http.ParseTime(s)
	if err != nil || r.ServerTime.Sub(t) < settled {
		return ""
	}
	return s
}
