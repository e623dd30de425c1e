package bluesky

import (
	"strings"
	"unicode/utf8"

	"github.com/streamwatch/streamwatch/fetcher"
)

// facet is an app.bsky.richtext.facet: a stretch of the text, in bytes of its
// UTF-8, and what it stands for.
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

// entities turns facets into links, mentions and tags. Facets that are empty,
// end outside the text or cut a character in two are left out, as the lexicon
// asks.
func entities(t *fetcher.Tweet, text string, facets []facet, prefix string) {
	if len(facets) == 0 {
		return
	}
	points := codePoints(text)
	shift := utf8.RuneCountInString(prefix)
	links := make(map[string]bool)
	for _, f := range facets {
		start, end := f.Index.ByteStart, f.Index.ByteEnd
		if start < 0 || start >= end || end > len(text) || points[start] < 0 || points[end] < 0 {
			continue
		}
		shown := text[start:end]
		indices := func() []int { return []int{points[start] + shift, points[end] + shift} }
		for _, feature := range f.Features {
			switch feature.Type {
			case facetLink:
				uri := webURL(feature.URI)
				if uri != "" && !links[uri] {
					links[uri] = true
					t.URLs = append(t.URLs, fetcher.URL{URL: uri, ExpandedURL: uri, DisplayURL: shown})
				}
			case facetMention:
				if isDID(feature.DID) {
					t.UserMentions = append(t.UserMentions, fetcher.Mention{
						ID: feature.DID, Username: strings.TrimPrefix(shown, "@"), Indices: indices(),
					})
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

// codePoints returns for each byte offset of text, its end included, the number
// of code points before it, and −1 for an offset inside of one.
func codePoints(text string) []int {
	points := make([]int, len(text)+1)
	for i := range points {
		points[i] = -1
	}
	n := 0
	for i := range text {
		points[i] = n
		n++
	}
	points[len(text)] = n
	return points
}

// webURL returns u if it is an address of the web, and "" for javascript: and so on.
func webURL(u string) string {
	if strings.HasPrefix(u, "https://") || strings.HasPrefix(u, "http://") {
		return u
	}
	return ""
}
