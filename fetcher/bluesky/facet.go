package bluesky

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/streamwatch/streamwatch/fetcher"
)

// facet is an app.bsky.richtext.facet: a link, mention or tag and its range in the text, as
// byte offsets in UTF-8.
type facet struct {
	Index struct {
		ByteStart int `json:"byteStart"`
		ByteEnd   int `json:"byteEnd"` // exclusive
	} `json:"index"`
	Features []struct {
		Type string `json:"$type"`
		URI  string `json:"uri"`
		DID  string `json:"did"`
		Tag  string `json:"tag"`
	} `json:"features"`
}

// Kinds of facet.
const (
	facetLink    = "app.bsky.richtext.facet#link"
	facetMention = "app.bsky.richtext.facet#mention"
	facetTag     = "app.bsky.richtext.facet#tag"
)

// maxFacets is the largest number of facets read in a post. No client makes that many.
const maxFacets = 100

// handles maps DIDs to handles that are known to be theirs.
type handles map[string]string

// entities adds the links, mentions and tags of facets to t. t.Text is prefix and text, so the
// offsets are shifted by prefix. As the lexicon requires, entities ignores facets that are
// empty, reach beyond the text or split a character. The poster writes any handle over a
// mention's DID, so a Mention has only a known one.
func entities(t *fetcher.Tweet, text string, facets []facet, prefix string, known handles) {
	shift := utf8.RuneCountInString(prefix)
	for _, f := range facets[:min(len(facets), maxFacets)] {
		start, end := f.Index.ByteStart, f.Index.ByteEnd
		if start < 0 || start >= end || end > len(text) || !utf8.RuneStart(text[start]) || end < len(text) && !utf8.RuneStart(text[end]) {
			continue
		}
		shown := text[start:end]
		indices := func() []int {
			from := shift + utf8.RuneCountInString(text[:start])
			return []int{from, from + utf8.RuneCountInString(shown)}
		}
		for _, feature := range f.Features {
			switch feature.Type {
			case facetLink:
				uri := webURL(feature.URI)
				known := slices.ContainsFunc(t.URLs, func(u fetcher.URL) bool { return u.URL == uri })
				if uri != "" && !known && len(t.URLs) < maxFacets {
					t.URLs = append(t.URLs, fetcher.URL{URL: uri, ExpandedURL: uri, DisplayURL: shown})
				}
			case facetMention:
				if isDID(feature.DID) {
					t.UserMentions = append(t.UserMentions, fetcher.Mention{ID: feature.DID, Username: known[feature.DID], Indices: indices()})
				}
			case facetTag:
				tag := strings.TrimPrefix(feature.Tag, "#")
				if tag != "" {
					t.Hashtags = append(t.Hashtags, fetcher.Hashtag{Text: tag, Indices: indices()})
				}
			}
		}
	}
}

// tags adds the tags of a record that are not in its text, up to maxFacets.
func tags(t *fetcher.Tweet, list []string) {
	for _, tag := range list[:min(len(list), maxFacets)] {
		tag = strings.TrimPrefix(tag, "#")
		known := slices.ContainsFunc(t.Hashtags, func(h fetcher.Hashtag) bool { return strings.EqualFold(h.Text, tag) })
		if tag != "" && !known {
			t.Hashtags = append(t.Hashtags, fetcher.Hashtag{Text: tag})
		}
	}
}

// webURL returns u if it begins with http:// or https://, otherwise "", for example for
// javascript:.
func webURL(u string) string {
	if strings.HasPrefix(u, "https://") || strings.HasPrefix(u, "http://") {
		return u
	}
	return ""
}
