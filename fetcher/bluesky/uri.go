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

// parseURI reads a record's address. It is not usable when a part is missing
// or the authority is a handle, which another account may have tomorrow.
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

// isPost tells a post from the other records that can be embedded: feeds,
// lists, starter packs.
func isPost(uri string) bool {
	u, ok := parseURI(uri)
	return ok && u.collection == postCollection
}

// permalink is a post's page in Bluesky's own app; a DID works there as well
// as a handle. Records of other kinds have none.
func permalink(u atURI, handle string) string {
	if u.collection != postCollection {
		return ""
	}
	if handle == "" {
		handle = u.did
	}
	return "https://bsky.app/profile/" + url.PathEscape(handle) + "/post/" + url.PathEscape(u.key)
}
