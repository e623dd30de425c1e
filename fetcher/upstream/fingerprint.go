package upstream

import (
	"hash/maphash"
	"net/http"
	"strings"
	"time"
)

// fingerprint tells different answers to the same request apart.
type fingerprint struct {
	etag     string // "" when the server sent none that can be used
	modified string // Last-Modified, likewise
	size     int    // of the body, in bytes
	sum      uint64
	links    uint64 // of the Link header
}

// seed is random for each process, so nobody can make two bodies with the same hash. By
// accident a changed body of equal length has the same hash once in 2^64 times: at a
// million changed pages a second, once in 500,000 years.
var seed = maphash.MakeSeed()

// fingerprint returns the answer's fingerprint, which is computed once, without
// allocating. It covers the body and the Link header, by which some servers page.
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

// header returns the condition for the next request: the entity tag if there is one,
// since times are less exact (RFC 9110, 13.1.3), nil without a validator.
func (f *fingerprint) header() http.Header {
	switch {
	case f.etag != "":
		return http.Header{"If-None-Match": {f.etag}}
	case f.modified != "":
		return http.Header{"If-Modified-Since": {f.modified}}
	}
	return nil
}

// maxValidator bounds an entity tag that is kept, in bytes.
const maxValidator = 256

// entityTag returns s if it is an entity tag (RFC 9110, 8.8.3), weak or strong, and ""
// if not: a bare * would match whatever the server has.
func entityTag(s string) string {
	opaque := strings.TrimPrefix(s, "W/")
	if len(s) > maxValidator || len(opaque) < 2 || opaque[0] != '"' || opaque[len(opaque)-1] != '"' ||
		strings.ContainsAny(opaque[1:len(opaque)-1], "\" \t") {
		return ""
	}
	return s
}

// settled is how much older than the answer a Last-Modified has to be. Posts may appear
// up to three minutes after their time, behind newer ones, and a server may send the
// newest post's time as the page's.
const settled = 5 * time.Minute

// lastModified returns the answer's Last-Modified, or "" while the page may still change
// without another one: it is in whole seconds, so two states of the page in one second
// have the same (RFC 9110, 8.8.2.2).
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
