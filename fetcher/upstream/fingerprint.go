package upstream

import (
	"math/rand/v2"
	"net/http"
	"strings"
	"time"

	"github.com/zeebo/xxh3"
)

// fingerprint tells an answer from another one to the same request.
type fingerprint struct {
	etag     string // "" when the server sent none that can be used
	modified string // Last-Modified, with the same reservation
	size     int    // of the body, in bytes
	sum      xxh3.Uint128
	links    uint64 // of the Link header
}

// seed is the process's own. A hash of 128 bits with a seed that nobody else
// knows makes the chance that a changed body of equal length looks the same about
// 1 in 2^128; a million polls a second would take 10^25 years to meet it.
var seed = rand.Uint64()

// fingerprint is computed once and allocates nothing. It covers the body and
// the Link header, which some servers page by.
func (r *Response) fingerprint() *fingerprint {
	if r.hashed {
		return &r.print
	}
	r.hashed = true
	r.print.size = len(r.Body)
	r.print.sum = xxh3.Hash128Seed(r.Body, seed)
	links := seed
	for _, link := range r.Header["Link"] {
		links = xxh3.HashStringSeed(link, links)
	}
	r.print.links = links
	r.print.etag = entityTag(r.Header.Get("Etag"))
	r.print.modified = r.lastModified()
	return &r.print
}

// same compares what the answers say, not how the server names it.
func (f *fingerprint) same(other *fingerprint) bool {
	return f.size == other.size && f.sum == other.sum && f.links == other.links
}

// clone shares no memory with an answer's header.
func (f *fingerprint) clone() fingerprint {
	c := *f
	c.etag, c.modified = strings.Clone(f.etag), strings.Clone(f.modified)
	return c
}

// header has the condition that the answer's successor is to meet: an entity
// tag where there is one, since times are less exact (RFC 9110, 13.1.3).
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

// entityTag is a tag by the grammar of RFC 9110, 8.8.3, weak or strong, ""
// for anything else: a bare * would match whatever the server has.
func entityTag(s string) string {
	opaque := strings.TrimPrefix(s, "W/")
	if len(s) > maxValidator || len(opaque) < 2 || opaque[0] != '"' || opaque[len(opaque)-1] != '"' ||
		strings.ContainsAny(opaque[1:len(opaque)-1], "\" \t") {
		return ""
	}
	return s
}

// settled is how much older than the answer a Last-Modified has to be. Posts
// show up to three minutes after their time, behind newer ones, and a server
// may take the newest post's time for the page's.
const settled = 5 * time.Minute

// lastModified is the answer's Last-Modified, "" while the page may change and
// keep it: it is a time in whole seconds, which tells two states of one second
// apart as little as RFC 9110, 8.8.2.2, says it does.
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
