package poll

import (
	"slices"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/monitor"
	"github.com/streamwatch/streamwatch/rule/query"
)

// Source is a monitor or a rule, together with the test for its posts.
type Source struct {
	deliver.Source
	// Match reports whether the source wants a post; nil accepts all.
	Match func(*fetcher.Tweet) bool

	program *query.Program // replaces Match: see Index.Follow
	matched uint64         // number of the last lookup with a post that the program matched
}

// QueryChanged reports whether p differs from the query that now decides for the source. In that
// case the source has no posts for p yet.
func (src *Source) QueryChanged(p *query.Program) bool {
	return p != nil && src.program != nil && p.Canonical() != src.program.Canonical()
}

// Index holds the programs of sources. It is not safe for concurrent use.
type Index struct {
	set     *query.Set
	sources map[string]*Source // the sources with a program, by id
	lookups uint64             // number of posts looked up
}

// NewIndex makes an empty index.
func NewIndex() *Index { return &Index{set: query.NewSet(), sources: map[string]*Source{}} }

// Follow sets the program that decides for a source. If p is nil, Match decides.
func (x *Index) Follow(src *Source, p *query.Program) {
	switch {
	case p == src.program:
	case p == nil:
		x.set.Remove(src.ID)
		delete(x.sources, src.ID)
	default:
		x.set.Add(src.ID, p)
		x.sources[src.ID] = src
	}
	src.program = p
}

// Len returns the number of programs.
func (x *Index) Len() int { return x.set.Len() }

// Asker reports which sources want a post. It serves the posts of one poll.
type Asker struct {
	index  *Index
	looked *fetcher.Tweet // the post looked up last
}

// Asker returns an Asker.
func (x *Index) Asker() Asker { return Asker{index: x} }

// Wants reports whether a source wants a post.
func (a *Asker) Wants(src *Source, tw *fetcher.Tweet) bool {
	if src.program == nil {
		return src.Match == nil || src.Match(tw)
	}
	x := a.index
	if a.looked != tw {
		a.looked = tw
		x.lookups++
		x.set.Match(tw, func(id string) { x.sources[id].matched = x.lookups })
	}
	return src.matched == x.lookups
}

// OfTypes returns a function that reports whether a post is of one of the given kinds.
// Without kinds it returns nil, which accepts all posts.
func OfTypes(types []monitor.FilterType) func(*fetcher.Tweet) bool {
	if len(types) == 0 {
		return nil
	}
	types = slices.Clone(types)
	return func(t *fetcher.Tweet) bool {
		return slices.ContainsFunc(types, func(ft monitor.FilterType) bool { return isType(t, ft) })
	}
}

func isType(t *fetcher.Tweet, ft monitor.FilterType) bool {
	quote := t.IsQuoteStatus && !t.IsRetweet
	switch ft {
	case monitor.Reply:
		return t.IsReply()
	case monitor.Retweet:
		return t.IsRetweet
	case monitor.Quote:
		return quote
	default:
		return !t.IsReply() && !t.IsRetweet && !quote
	}
}
