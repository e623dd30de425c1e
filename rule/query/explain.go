package query

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/streamwatch/streamwatch/fetcher"
)

// Verdict is the result of a clause on a post.
type Verdict string

// Verdicts. Unknown means that the fetcher.Tweet lacks the data to decide.
const (
	Yes     Verdict = "yes"
	No      Verdict = "no"
	Unknown Verdict = "unknown"
)

// Explanation is the result of a clause or group on a post. A group has its clauses in
// Parts.
type Explanation struct {
	// Clause is the clause in its normalised form, or AND, OR and their
	// negations for a group.
	Clause  string
	Verdict Verdict
	// Start and End are the clause's bytes in the query.
	Start, End int
	// Found is the start and end, in bytes, of the part of the post's text that meets the clause.
	// The text is FullText, or Text if FullText is empty. Both are 0 if the clause is not met or
	// not about the text.
	Found [2]int
	// Text is the part of the text given by Found.
	Text string
	// Reason tells why a clause is unknown, or why the query does not match although its clauses
	// are met. It may be "".
	Reason string
	// Parts are the clauses of a group, in the order of the query.
	Parts []Explanation
}

// Explain evaluates a program on a post like Match, but returns the result of every clause. It
// does not skip clauses that cannot change the result.
func (p *Program) Explain(t *fetcher.Tweet) Explanation {
	post := newPost(t)
	e := p.explain(p.root, post)
	if p.hidesRetweets && t.IsRetweet {
		e.Verdict, e.Reason = No, "the web hides native retweets without include:nativeretweets"
	}
	post.release()
	return e
}

func (p *Program) explain(n *node, post *post) Explanation {
	e := Explanation{Start: n.start, End: n.end}
	var v verdict
	if n.kind == leafNode {
		var found span
		v, found = p.answer(n, post)
		if v == yes && found == (span{}) {
			found = p.spanOf(n, post)
		}
		e.Clause = (&printer{d: p.dialect}).print(n)
		e.Found = [2]int{int(found.start), int(found.end)}
		e.Text = post.text[found.start:found.end]
		if v == unknown {
			e.Reason = "the post's record does not say"
		}
	} else {
		decides := no
		e.Clause = "AND"
		if n.kind == orNode {
			decides, e.Clause = yes, "OR"
		}
		v = decides.not()
		for _, k := range n.kids {
			part := p.explain(k, post)
			e.Parts = append(e.Parts, part)
			switch {
			case part.Verdict == decides.public():
				v = decides
			case part.Verdict == Unknown && v != decides:
				v = unknown
			}
		}
		if n.neg {
			e.Clause = "NOT " + e.Clause
		}
	}
	if n.neg {
		v = v.not()
	}
	e.Verdict = v.public()
	return e
}

func (v verdict) public() Verdict {
	switch v {
	case yes:
		return Yes
	case no:
		return No
	}
	return Unknown
}

// spanOf finds the part of the text that met a tag or contains: clause.
func (p *Program) spanOf(n *node, post *post) span {
	exact := true
	switch n.op {
	case opHashtag:
		exact = p.dialect.exact()
		post.spans = appendHashtags(post.spans[:0], post.text, post.textLinks())
	case opMention:
		post.spans = appendMentions(post.spans[:0], post.text, post.textLinks())
	case opCashtag:
		post.spans = appendCashtags(post.spans[:0], post.text)
	case opContains:
		i := strings.Index(strings.ToLower(post.text), strings.ToLower(n.arg.text))
		end := i + len(n.arg.text)
		if i < 0 || end > len(post.text) || !bytes.Equal(appendFolded(nil, post.text[i:end], false), n.arg.literal) {
			return span{} // accents or case changed the length
		}
		return span{int32(i), int32(end)}
	default:
		return span{}
	}
	for _, s := range post.spans {
		if post.hash(post.text[s.start:s.end], exact) == n.arg.hash {
			return s
		}
	}
	return span{}
}

// String returns the tree with one clause per line: the verdict, the clause, and the text
// that meets it.
func (e Explanation) String() string {
	var b strings.Builder
	e.write(&b, 0)
	return b.String()
}

func (e *Explanation) write(b *strings.Builder, depth int) {
	fmt.Fprintf(b, "%-8s%s%s", e.Verdict, strings.Repeat("  ", depth), e.Clause)
	if e.Text != "" {
		fmt.Fprintf(b, "  %q at %d", e.Text, e.Found[0])
	}
	if e.Reason != "" {
		fmt.Fprintf(b, "  (%s)", e.Reason)
	}
	b.WriteByte('\n')
	for i := range e.Parts {
		e.Parts[i].write(b, depth+1)
	}
}
