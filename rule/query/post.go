package query

import (
	"strings"
	"time"

	"github.com/streamwatch/streamwatch/fetcher"
)

// view is a way to split a post into words.
type view uint8

const (
	viewExact view = iota // the text, accents count, a link is one opaque word
	viewFold              // the same without accents
	viewWeb               // the text with its links; the links in full; the author's names
	viewURL               // the links in full
	viewCount
)

func viewOf(d Dialect) view {
	switch d {
	case V2Stream:
		return viewExact
	case Web:
		return viewWeb
	}
	return viewFold
}

// post is a Tweet that is being matched. Words and other derived data are computed when a clause
// first needs them. Then all programs share them.
type post struct {
	tweet *fetcher.Tweet
	text  string

	have    have // what has been computed
	views   [viewCount]words
	links   []span // of the text
	tags    [2][]uint64
	names   []uint64
	symbols []uint64
	lowered []byte // the text folded, for substrings
	at      time.Time
	atKnown bool

	split   splitter
	scratch words // of the text last passed to field
	spans   []span
	buf     []byte

	// For a Set: the program of a slot has been tried on this post if tried[slot] equals round.
	tried []uint32
	round uint32
	hits  []hit

	steps int // work done, for tests of the cost
}

// have is a set of bits, one for each kind of data that has been computed.
type have uint16

const (
	haveLinks have = 1 << iota
	haveTagsExact
	haveTagsFold
	haveNames
	haveSymbols
	haveLowered
	haveTime
	haveViews // bit of the first view; the next bits are for the other views
)

// once reports whether the given data must still be computed, and marks them as computed.
func (p *post) once(what have) bool {
	if p.have&what != 0 {
		return false
	}
	p.have |= what
	return true
}

func (p *post) reset(t *fetcher.Tweet) {
	p.tweet, p.text, p.have, p.steps = t, t.FullText, 0, 0
	if p.text == "" {
		p.text = t.Text
	}
}

// textLinks returns the spans of the links in the text.
func (p *post) textLinks() []span {
	if p.once(haveLinks) {
		p.links = appendLinks(p.links[:0], p.text, &p.steps)
	}
	return p.links
}

// words returns the post's words in a view.
func (p *post) words(v view) *words {
	w := &p.views[v]
	if !p.once(haveViews << v) {
		return w
	}
	w.reset()
	sp := &p.split
	sp.exact, sp.stems, sp.opaque, sp.steps = v == viewExact, v == viewWeb, nil, 0
	if v == viewExact || v == viewFold {
		sp.opaque = p.textLinks()
	}
	if v != viewURL {
		w.tokens = sp.split(w.tokens, p.text)
		w.text = len(w.tokens)
	}
	sp.opaque = nil
	if v == viewWeb || v == viewURL {
		for i := range p.tweet.URLs {
			u := &p.tweet.URLs[i]
			for _, s := range [...]string{u.URL, u.ExpandedURL, u.UnwoundURL} {
				w.endSegment()
				w.tokens = sp.split(w.tokens, s)
			}
		}
		if len(p.tweet.URLs) == 0 && v == viewURL {
			for _, l := range p.textLinks() {
				w.endSegment()
				w.tokens = sp.split(w.tokens, p.text[l.start:l.end])
			}
		}
	}
	if v == viewWeb {
		w.endSegment()
		w.tokens = sp.split(w.tokens, p.tweet.UserName)
		w.endSegment()
		w.tokens = sp.split(w.tokens, p.tweet.Username)
	}
	w.build()
	p.steps += sp.steps + len(w.tokens)
	return w
}

// hash returns the hash of a name or tag after folding, or 0 if nothing is left.
func (p *post) hash(s string, exact bool) uint64 {
	p.buf = appendFolded(p.buf[:0], s, exact)
	if len(p.buf) == 0 {
		return 0
	}
	return hashFolded(p.buf)
}

// hashtags returns the hashes of the Tweet's Hashtags or, if there are none, of the tags
// found in its text.
func (p *post) hashtags(exact bool) []uint64 {
	i, bit := 0, haveTagsFold
	if exact {
		i, bit = 1, haveTagsExact
	}
	if p.once(bit) {
		p.tags[i] = p.tags[i][:0]
		for k := range p.tweet.Hashtags {
			p.tags[i] = append(p.tags[i], p.hash(strings.TrimPrefix(p.tweet.Hashtags[k].Text, "#"), exact))
		}
		if len(p.tweet.Hashtags) == 0 {
			p.spans = appendHashtags(p.spans[:0], p.text, p.textLinks())
			p.tags[i] = p.hashes(p.tags[i], exact)
		}
	}
	return p.tags[i]
}

// hashes appends the hashes of the parts of the text given by p.spans.
func (p *post) hashes(dst []uint64, exact bool) []uint64 {
	p.steps += len(p.text)
	for _, s := range p.spans {
		dst = append(dst, p.hash(p.text[s.start:s.end], exact))
	}
	return dst
}

// mentions returns the hashes of the handles in UserMentions or, if there are none, of the
// mentions found in the text.
func (p *post) mentions() []uint64 {
	if p.once(haveNames) {
		p.names = p.names[:0]
		for i := range p.tweet.UserMentions {
			p.names = append(p.names, p.hash(strings.TrimPrefix(p.tweet.UserMentions[i].Username, "@"), true))
		}
		if len(p.tweet.UserMentions) == 0 {
			p.spans = appendMentions(p.spans[:0], p.text, p.textLinks())
			p.names = p.hashes(p.names, true)
		}
	}
	return p.names
}

// cashtags returns the hashes of the $TAGs in the text.
func (p *post) cashtags() []uint64 {
	if p.once(haveSymbols) {
		p.spans = appendCashtags(p.spans[:0], p.text)
		p.symbols = p.hashes(p.symbols[:0], true)
	}
	return p.symbols
}

// folded returns the whole folded text, for the search of substrings.
func (p *post) folded() []byte {
	if p.once(haveLowered) {
		p.lowered = appendFolded(p.lowered[:0], p.text, false)
		p.steps += len(p.text)
	}
	return p.lowered
}

// published returns when the post was published. It returns false if the Tweet has no time.
func (p *post) published() (time.Time, bool) {
	if p.once(haveTime) {
		p.at, p.atKnown = publishedAt(p.tweet)
	}
	return p.at, p.atKnown
}

func publishedAt(t *fetcher.Tweet) (time.Time, bool) {
	if !t.PublishedAt.IsZero() {
		return t.PublishedAt, true
	}
	if at, ok := fetcher.SnowflakeTime(t.ID); ok {
		return at, true
	}
	at, err := fetcher.ParseTime(t.CreatedAt)
	return at, err == nil && t.CreatedAt != ""
}

// field returns the words of s, another text of the Tweet. They are valid until the next call of
// field.
func (p *post) field(s string, exact bool) *words {
	p.scratch.reset()
	sp := &p.split
	sp.exact, sp.stems, sp.opaque, sp.steps = exact, false, nil, 0
	p.scratch.tokens = sp.split(p.scratch.tokens, s)
	p.scratch.build()
	p.steps += sp.steps
	return &p.scratch
}
