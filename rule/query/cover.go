package query

import (
	"hash/maphash"
	"slices"
)

// keyKind is a kind of key.
type keyKind uint8

const (
	keyWordExact keyKind = iota // the first kinds are the views
	keyWordFold
	keyWordWeb
	keyURL
	keyTagExact
	keyTagFold
	keyMention
	keyMentionID
	keyCashtag
	keyAuthor
	keyAuthorID
	keyConversation
	keyReply
	keyRetweet
	keyQuote
	keyKinds
)

// key is a feature of a post that a program can require, such as a word, a tag or an author.
type key struct {
	kind keyKind
	hash uint64
}

// id returns a hash of kind and hash. A Set indexes programs by it.
func (k key) id() uint64 { return mix(k.hash, uint64(k.kind)*0xc2b2ae3d27d4eb4f) }

func idHash(s string) uint64 { return maphash.String(seed, s) }

// maxCover is the most keys that a program is indexed under. A program that needs more keys is
// tried on every post.
const maxCover = 64

// cover is a set of keys. Each post that matches the program has at least one of the keys.
type cover struct {
	keys  []key
	score int // the higher, the fewer posts have one of the keys
}

// cover returns a cover of n. The cover has no keys if n requires nothing that a Set indexes.
func (p *Program) cover(n *node) cover {
	if n.neg {
		return cover{}
	}
	switch n.kind {
	case andNode: // any kid's cover is a cover of n: take the rarest
		var best cover
		for _, k := range n.kids {
			if c := p.cover(k); len(c.keys) > 0 && (len(best.keys) == 0 || c.score > best.score) {
				best = c
			}
		}
		return best
	case orNode: // all of them together
		var all cover
		for i, k := range n.kids {
			c := p.cover(k)
			if len(c.keys) == 0 || len(all.keys)+len(c.keys) > maxCover {
				return cover{}
			}
			all.keys = append(all.keys, c.keys...)
			if i == 0 || c.score < all.score {
				all.score = c.score
			}
		}
		return all
	}
	return p.leafCover(n)
}

// Scores of keys that are not words. The score of a word is its length, at most 16, plus a bonus.
const (
	scoreID     = 100
	scoreAuthor = 90
	scoreTag    = 20
)

// covers returns a cover for each clause that the query joins by AND, the rarest first. Any one
// of the covers is enough to find the program.
func (p *Program) covers() []cover {
	clauses := []*node{p.root}
	if p.root.kind == andNode && !p.root.neg {
		clauses = p.root.kids
	}
	var list []cover
	for _, n := range clauses {
		if c := p.cover(n); len(c.keys) > 0 {
			list = append(list, c)
		}
	}
	slices.SortStableFunc(list, func(a, b cover) int { return b.score - a.score })
	return list
}

func (p *Program) leafCover(n *node) cover {
	a := &n.arg
	one := func(kind keyKind, hash uint64, score int) cover {
		return cover{[]key{{kind, hash}}, score}
	}
	var scratch post
	switch n.op {
	case opTerm:
		return a.words.cover(keyKind(p.view), 0)
	case opURL:
		return a.words.cover(keyURL, 4)
	case opHashtag:
		if p.dialect.exact() {
			return one(keyTagExact, a.hash, scoreTag)
		}
		return one(keyTagFold, a.hash, scoreTag)
	case opCashtag:
		return one(keyCashtag, a.hash, scoreTag)
	case opMention:
		c := one(keyMention, a.hash, scoreTag)
		if isDigits(a.text) {
			c.keys = append(c.keys, key{keyMentionID, idHash(a.text)})
		}
		return c
	case opFrom: // a handle of digits and an id look the same
		return cover{[]key{{keyAuthor, scratch.hash(a.text, true)}, {keyAuthorID, idHash(a.text)}}, scoreAuthor}
	case opConversation:
		return one(keyConversation, idHash(a.text), scoreID)
	case opInReplyTo:
		return one(keyReply, idHash(a.text), scoreID)
	case opRetweetsOfTweet:
		return one(keyRetweet, idHash(a.text), scoreID)
	case opQuotesOfTweet:
		return one(keyQuote, idHash(a.text), scoreID)
	}
	return cover{}
}

// cover returns the longest word of p. A post must have all words of p, so one is enough.
func (p *pattern) cover(kind keyKind, bonus int) cover {
	var c cover
	for i, w := range p.words {
		score := bonus + min(int(p.sizes[i]), 16)
		if w != anyWord && (len(c.keys) == 0 || score > c.score) {
			c = cover{[]key{{kind, w}}, score}
		}
	}
	return c
}
