package detect

import (
	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/rule/query"
)

// indexed is how many subscribers of an account are worth a look into the index
// of programs: to ask a few one by one is cheaper.
const indexed = 8

// asker tells which sources want a post. Where many rules watch its account, it
// is looked up in the index of their programs, once, when the first of them
// asks.
type asker struct {
	sh     *shard
	many   bool
	looked *fetcher.Tweet // the post that was looked up last, in this poll
}

func (sh *shard) asker(slot int32) asker {
	return asker{sh: sh, many: sh.targets.at(slot).is(shared) && len(sh.more[slot]) >= indexed}
}

func (a *asker) wants(src *source, tw *fetcher.Tweet) bool {
	switch {
	case src.program == nil:
		return src.match == nil || src.match(tw)
	case !a.many:
		return src.program.Match(tw)
	}
	sh := a.sh
	if a.looked != tw {
		a.looked = tw
		sh.asked++
		sh.answers.Match(tw, func(id string) { sh.sources[id].asked = sh.asked })
	}
	return src.asked == sh.asked
}

// asksElse reports whether p is another query than the one that a source has
// had: what it has got says nothing of that.
func (src *source) asksElse(p *query.Program) bool {
	return p != nil && src.program != nil && p.Canonical() != src.program.Canonical()
}

// follow gives a source its program, nil for none.
func (sh *shard) follow(src *source, p *query.Program) {
	switch {
	case p == src.program:
	case p == nil:
		sh.answers.Remove(src.ID)
	default:
		sh.answers.Add(src.ID, p)
	}
	src.program = p
}

// dropSource forgets a source that has no targets here any more.
func (sh *shard) dropSource(id string) {
	if src := sh.sources[id]; src != nil {
		sh.follow(src, nil)
		delete(sh.sources, id)
	}
}
