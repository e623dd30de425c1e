package bluesky

import (
	"net/url"
	"strings"
)

// The collections of a timeline's records.
const (
	postCollection   = "app.bsky.feed.post"
	repostCollection = "app.bsky.feed.repost"
)

// atURI is the address of a record: at://did/collection/key.
type atURI struct{ did, collection, key string }

// parseURI parses a record's address. It reports false if a part is missing. It also reports
// false if the address has a handle instead of a DID, because another account may take the
// handle.
func parseURI(s string) (atURI, bool) {
	rest, ok := strings.CutPrefix(s, "at://")
	if !ok {
		return atURI{}, false
	}
	did, rest, _ := strings.Cut(rest, "/")
	collection, key, _ := strings.Cut(rest, "/")
	if !isDID(did) || collection == "" || key == "" || strings.Contains(key, "/") {
		return atURI{}, false
	}
	return atURI{did: did, collection: collection, key: key}, true
}

// isPost reports whether uri is the address of a post, and not of a feed, a list or a
// starter pack.
func isPost(uri string) bool {
	u, ok := parseURI(uri)
	return ok && u.collection == postCollection
}

// permalink returns the address of a post's page in Bluesky's own app, with the DID if
// handle is "". It returns "" for other records.
func permalink(u atURI, handle string) string {
	if u.collection != postCollection {
		return ""
	}
	if handle == "" {
		handle = u.did
	}
	return "https://bsky.app/profile/" + url.PathEscape(handle) + "/post/" + url.PathEscape(u.key)
}
