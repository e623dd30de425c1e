package xapitest

import (
	"encoding/base32"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/rule/query"
)

// span is the range of ids that a request asks for: low <= id < high.
type span struct{ low, high uint64 }

func everything() span { return span{0, 1 << 63} }

// since excludes id and all lower ids. until excludes id and all higher ids.
func (sp *span) since(id uint64)     { sp.low = max(sp.low, id+1) }
func (sp *span) until(id uint64)     { sp.high = min(sp.high, id) }
func (sp *span) from(at time.Time)   { sp.low = max(sp.low, fetcher.SnowflakeAt(at)) }
func (sp *span) before(at time.Time) { sp.high = min(sp.high, fetcher.SnowflakeAt(at)) }
func (sp *span) cut(posts []*post) []*post {
	i, _ := slices.BinarySearchFunc(posts, sp.low, func(p *post, n uint64) int { return byNumber(p, &post{number: n}) })
	k, _ := slices.BinarySearchFunc(posts, sp.high, func(p *post, n uint64) int { return byNumber(p, &post{number: n}) })
	return posts[i:max(i, k)]
}

// readSpan returns the range of ids in the request's parameters. If since_id is set, it ignores
// start_time.
func (c *call) readSpan() (sp span, ok bool) {
	sp = everything()
	since, ok1 := c.id("since_id")
	start, ok2 := c.time("start_time")
	if !ok1 || !ok2 {
		return sp, false
	}
	switch {
	case since != 0:
		sp.since(since)
	case !start.IsZero():
		if !start.Before(c.s.cfg.Now()) {
			c.invalid("start_time", c.query.Get("start_time"))
			return sp, false
		}
		sp.from(start)
	}
	return sp, true
}

// tokens is the encoding of page tokens, base32hex as at X.
var tokens = base32.HexEncoding.WithPadding(base32.NoPadding)

// page returns a page of posts, newest first, and the token of the next page. token is the name
// of the request's parameter that has the page's token.
func (c *call) page(posts []*post, token string, size int) (shown []*post, next string, ok bool) {
	if text := c.query.Get(token); text != "" {
		raw, err := tokens.DecodeString(text)
		last, err2 := strconv.ParseUint(string(raw), 10, 64)
		if err != nil || err2 != nil {
			c.invalid(token, text)
			return nil, "", false
		}
		sp := everything()
		sp.until(last)
		posts = sp.cut(posts)
	}
	cut := max(0, len(posts)-size)
	shown = slices.Clone(posts[cut:])
	slices.Reverse(shown)
	if cut > 0 {
		next = tokens.EncodeToString([]byte(shown[len(shown)-1].id))
	}
	return shown, next, true
}

// maxTimeline is how many of the newest posts a timeline shows.
const maxTimeline = 3200

// timeline answers GET /2/users/:id/tweets.
func timeline(c *call) {
	s := c.s
	sp, ok := c.readSpan()
	size, ok2 := c.number("max_results", 5, 100, 10)
	if !ok || !ok2 {
		return
	}
	id := c.r.PathValue("id")
	a := s.byID[id]
	if fault := faultOf(a, id); fault != nil {
		c.faults(*fault)
		return
	}
	posts := a.posts[max(0, len(a.posts)-maxTimeline):]
	shown, next, ok := c.page(sp.cut(posts), "pagination_token", size)
	if ok {
		c.posts(shown, next)
	}
}

// faultOf returns the problem for an account that is missing, suspended or protected. It
// returns nil if the account's posts can be read.
func faultOf(a *account, id string) *Problem {
	switch {
	case a == nil:
		return &Problem{Kind: "resource-not-found", Title: "Not Found Error", ResourceType: "user", ResourceID: id, Value: id, Parameter: "id",
			Detail: "Could not find user with id: [" + id + "]."}
	case a.suspended:
		return &Problem{Kind: "resource-not-found", Title: "Not Found Error", ResourceType: "user", ResourceID: id, Value: id, Parameter: "id",
			Detail: "User has been suspended: [" + id + "]."}
	case a.protected:
		return &Problem{Kind: "not-authorized-for-resource", Title: "Authorization Error", ResourceType: "user", ResourceID: id, Value: id, Parameter: "id",
			Detail: "Sorry, you are not authorized to see the user with id: [" + id + "]."}
	}
	return nil
}

// faults answers with status 200 and a body that has errors instead of data.
func (c *call) faults(list ...Problem) {
	errs := []any{}
	for _, p := range list {
		m := p.members()
		delete(m, "status")
		errs = append(errs, m)
	}
	c.answer(object{"errors": errs})
}

// search answers GET /2/tweets/search/recent.
func search(c *call) {
	s := c.s
	sp, ok := c.readSpan()
	size, ok2 := c.number("max_results", 10, 100, 10)
	if !ok || !ok2 {
		return
	}
	now := s.cfg.Now()
	oldest := fetcher.SnowflakeAt(now.Add(-7 * 24 * time.Hour))
	if sp.low != 0 && sp.low < oldest {
		c.invalid("since_id", c.query.Get("since_id"))
		return
	}
	sp.low = max(sp.low, oldest)
	if !c.query.Has("since_id") {
		sp.before(now.Add(-30 * time.Second))
	}
	text := c.query.Get("query")
	p, _, err := query.Parse(text, query.Options{Dialect: query.V2Search, MaxLength: 512})
	if err != nil {
		c.invalid("query", text)
		return
	}
	var found []*post
	for _, candidate := range sp.cut(s.all) {
		if candidate.author.protected || candidate.author.suspended || candidate.relation == "retweeted" {
			continue
		}
		if t := candidate.record(); p.Match(&t) {
			found = append(found, candidate)
		}
	}
	if shown, next, ok := c.page(found, "next_token", size); ok {
		c.posts(shown, next)
	}
}

// list answers GET /2/lists/:id/tweets, which has no lower bound.
func list(c *call) {
	s := c.s
	size, ok := c.number("max_results", 1, 100, 100)
	if !ok {
		return
	}
	id := c.r.PathValue("id")
	members, ok := s.lists[id]
	if !ok {
		Problem{Kind: "resource-not-found", Status: http.StatusNotFound, Title: "Not Found Error", ResourceType: "list", ResourceID: id,
			Detail: "Could not find list with id: [" + id + "]."}.Write(c.w)
		return
	}
	var all []*post
	for _, a := range members {
		if !a.protected && !a.suspended {
			all = append(all, a.posts...)
		}
	}
	slices.SortFunc(all, byNumber)
	if shown, next, ok := c.page(all, "pagination_token", size); ok {
		c.posts(shown, next)
	}
}
