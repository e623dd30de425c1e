package query

import (
	"bytes"
	"strings"

	"github.com/streamwatch/streamwatch/fetcher"
)

// compile prepares a leaf for matching in dialect d. It reports an error if the leaf has too many
// words, even if the lexer did not.
func compile(n *node, d Dialect, f *findings) {
	if n.kind != leafNode {
		return
	}
	a := &n.arg
	switch operators[n.op].arg {
	case argWords:
		a.words = newPattern(a.text, d.exact() && n.op != opURL, false)
	case argText:
		a.words = newPattern(a.text, false, false)
	case argLiteral:
		a.literal = appendFolded(nil, a.text, false)
	case argLang:
		a.unit = currentCode(a.text)
	}
	var p post
	switch n.op {
	case opTerm:
		if d == Web && !a.quoted && !a.force {
			a.words = stemmed(a.text)
		} else {
			a.words = newPattern(a.text, d.exact(), a.quoted && !d.strict())
		}
		a.words.near = a.near
	case opHashtag:
		a.hash = p.hash(a.text, d.exact())
	case opMention, opCashtag:
		a.hash = p.hash(a.text, true)
	}
	if a.words != nil && !a.words.compile() {
		f.fail("E_PHRASE_TOO_LONG", n.start, n.end, "join shorter phrases", "the clause has more than %d words", maxPhrase)
	}
}

// answer evaluates one clause on a post. The span is the part of the text that meets the clause.
// It is empty if the clause is not about the text.
func (p *Program) answer(n *node, post *post) (verdict, span) {
	t, a := post.tweet, &n.arg
	post.steps++
	switch n.op {
	case opTerm:
		return a.words.in(post, p.view)
	case opEmoticon:
		return emoticonIn(post, a.text)
	case opQuestion:
		return questionIn(post)
	case opContains:
		return is(bytes.Contains(post.folded(), a.literal)), span{}
	case opHashtag:
		return is(holds(post.hashtags(p.dialect.exact()), a.hash)), span{}
	case opCashtag:
		return is(holds(post.cashtags(), a.hash)), span{}
	case opMention:
		return is(holds(post.mentions(), a.hash) || p.dialect == Union && isDigits(a.text) && mentionsID(t, a.text)), span{}
	case opURL:
		v, _ := a.words.in(post, viewURL)
		return v, span{}
	case opURLContains:
		return is(linkHas(post, a.literal)), span{}
	case opCardName, opCardDomain, opCardURL:
		return card(n.op, a, post), span{}
	case opPeriscope, opVine, opSpaces, opNews:
		return is(linksTo(post, n.op)), span{}
	case opSource:
		if t.Source == "" {
			return unknown, span{}
		}
		return is(a.words.isAll(post.field(t.Source, false))), span{}
	case opPlace, opPlaceCountry, opHasGeo:
		return p.place(n.op, a, post), span{}
	case opBio, opBioName, opBioLocation:
		return p.profileWords(n.op, a, post), span{}
	case opHasLinks:
		return is(len(t.URLs) > 0 || len(t.Media) > 0 || len(post.textLinks()) > 0), span{}
	case opHasHashtags:
		return is(len(post.hashtags(p.dialect.exact())) > 0), span{}
	case opHasMentions:
		return is(len(post.mentions()) > 0), span{}
	case opHasCashtags:
		return is(len(post.cashtags()) > 0), span{}
	case opSince, opUntil, opSinceTime, opUntilTime, opWithinTime:
		return p.when(n.op, a, post), span{}
	}
	return fieldAnswer(n.op, a, t), span{}
}

// in looks for p in a view of a post.
func (p *pattern) in(post *post, v view) (verdict, span) {
	w := post.words(v)
	first, last, ok := p.find(w, &post.steps)
	if !ok {
		return no, span{}
	}
	if last >= w.text { // in a link or a name
		return yes, span{}
	}
	return yes, span{w.tokens[first].start, w.tokens[last].end}
}

// isAll reports whether w consists of the words of p, in their order.
func (p *pattern) isAll(w *words) bool {
	if len(w.tokens) != len(p.words) || len(p.words) == 0 {
		return false
	}
	for i, t := range w.tokens {
		if t.hash != p.words[i] {
			return false
		}
	}
	return true
}

func holds(list []uint64, h uint64) bool {
	for _, x := range list {
		if x == h {
			return true
		}
	}
	return false
}

func mentionsID(t *fetcher.Tweet, id string) bool {
	for i := range t.UserMentions {
		if t.UserMentions[i].ID == id {
			return true
		}
	}
	return false
}

// emoticonIn looks for an emoticon, ignoring case. A letter or digit after it, as in "x:Data",
// makes it no emoticon.
func emoticonIn(p *post, e string) (verdict, span) {
	p.steps += len(p.text)
	s := p.text
	for i := 0; i+len(e) <= len(s); i++ {
		if s[i] != ':' || !strings.EqualFold(s[i:i+len(e)], e) {
			continue
		}
		if end := i + len(e); end == len(s) || !isAlnum(s[end]) {
			return yes, span{int32(i), int32(end)}
		}
	}
	return no, span{}
}

// questionIn looks for a question mark outside of links.
func questionIn(p *post) (verdict, span) {
	links := p.textLinks()
	p.steps += len(p.text)
	for i, r := range p.text {
		switch r {
		case '?', '？', '؟', '⁇':
			if !inSpans(&links, i) {
				return yes, span{int32(i), int32(i + len(string(r)))}
			}
		}
	}
	return no, span{}
}
