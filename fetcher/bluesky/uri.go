package bluesky

import (
	"net/url"
	"strings"
)

// Collections that make up a timeline.
const (
	postCollection   = "app.bsky.feed.post"
	repostCollection = "app.bsky.feed.repost"
)

// atURI is the address of a record: at://did/collection/key.
type atURI struct{ did, collection, key string }

// parseURI parses a record's address. It reports false when a part is missing, and
// for a handle in place of the DID, which another account may have later.
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

// isPost reports whether an embedded record is a post, and not a feed, a list or a
// starter pack.
func isPost(uri string) bool {
	u, ok := parseURI(uri)
	return ok && u.collection == postCollection
}

// permalink returns a post's page in Bluesky's own app, where a DID works as well as a
// handle. Other records have none.
func permalink(u atURI, handle string) string {
	if u.collection != postCollection {
		return ""
	}
	if handle == "" {
		handle = u.did
	}
	return "https://bsky.app/profile/" + url.PathEscape(handle) + "/post/" + url.PathEscape(u.key)
}
