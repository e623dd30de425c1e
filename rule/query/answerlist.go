package query

import (
	"bytes"
	"strings"
	"time"
)

// when evaluates the clauses about the time of publication.
func (p *Program) when(op opID, a *argument, post *post) verdict {
	at, ok := post.published()
	if !ok {
		return unknown
	}
	switch op {
	case opSince, opSinceTime:
		return is(at.Unix() >= a.lo)
	case opUntil, opUntilTime:
		return is(at.Unix() < a.lo)
	}
	now := p.now() // not a Duration: an age may be longer than 292 years
	return is(!at.Before(time.Unix(now.Unix()-a.lo, int64(now.Nanosecond()))))
}

// place evaluates the clauses about a post's place. place: and place_country:
// never match retweets; has:geo does.
func (p *Program) place(op opID, a *argument, post *post) verdict {
	t := post.tweet
	if t.Place == nil {
		return no
	}
	switch op {
	case opHasGeo:
		return yes
	case opPlaceCountry:
		return is(!t.IsRetweet && strings.EqualFold(t.Place.CountryCode, a.text))
	}
	if t.IsRetweet {
		return no
	}
	if strings.EqualFold(t.Place.ID, a.text) {
		return yes
	}
	for _, name := range [...]string{t.Place.Name, t.Place.FullName} {
		if _, _, ok := a.words.find(post.field(name, false), &post.steps); ok {
			return yes
		}
	}
	return no
}

// profileWords evaluates the clauses about the words of the author's profile.
func (p *Program) profileWords(op opID, a *argument, post *post) verdict {
	t := post.tweet
	var text *string
	switch {
	case op == opBioName && t.UserName != "":
		text = &t.UserName
	case t.User == nil:
		return unknown
	case op == opBio:
		text = t.User.Description
	case op == opBioName:
		text = &t.User.Name
	case op == opBioLocation:
		text = t.User.Location
	}
	if text == nil {
		return no
	}
	_, _, ok := a.words.find(post.field(*text, p.dialect.exact()), &post.steps)
	return is(ok)
}

// linkHas reports whether a link, as posted or in full, contains literal. literal must be folded.
func linkHas(p *post, literal []byte) bool {
	has := func(s string) bool {
		p.steps += len(s)
		p.buf = appendFolded(p.buf[:0], s, false)
		return bytes.Contains(p.buf, literal)
	}
	for i := range p.tweet.URLs {
		u := &p.tweet.URLs[i]
		if has(u.URL) || has(u.ExpandedURL) || has(u.DisplayURL) || has(u.UnwoundURL) {
			return true
		}
	}
	if len(p.tweet.URLs) > 0 {
		return false
	}
	for _, l := range p.textLinks() {
		if has(p.text[l.start:l.end]) {
			return true
		}
	}
	return false
}

// hosts lists, for each operator, the hosts of the links that meet it. An entry with a leading
// slash is a path on any host.
var hosts = map[opID][]string{
	opPeriscope: {"periscope.tv", "pscp.tv"},
	opVine:      {"vine.co"},
	opSpaces:    {"/i/spaces/"},
	opNews: {"nytimes.com", "washingtonpost.com", "wsj.com", "reuters.com", "apnews.com", "bloomberg.com", "cnn.com",
		"bbc.com", "bbc.co.uk", "theguardian.com", "ft.com", "economist.com", "npr.org", "nbcnews.com", "cbsnews.com",
		"abcnews.go.com", "foxnews.com", "usatoday.com", "latimes.com", "aljazeera.com", "politico.com", "axios.com",
		"lemonde.fr", "lefigaro.fr", "spiegel.de", "zeit.de", "faz.net", "elpais.com", "elmundo.es", "corriere.it",
		"repubblica.it", "nhk.or.jp", "asahi.com", "nikkei.com", "timesofindia.indiatimes.com", "thehindu.com",
		"scmp.com", "abc.net.au", "cbc.ca", "globo.com", "folha.uol.com.br"},
}

// linksTo reports whether a link leads to one of an operator's hosts.
func linksTo(p *post, op opID) bool {
	to := func(s string) bool {
		p.steps += len(s)
		for _, h := range hosts[op] {
			if h[0] == '/' && strings.Contains(s, h) || h[0] != '/' && hostIs(s, h) {
				return true
			}
		}
		return false
	}
	for i := range p.tweet.URLs {
		if u := &p.tweet.URLs[i]; to(u.ExpandedURL) || to(u.UnwoundURL) || to(u.URL) {
			return true
		}
	}
	if len(p.tweet.URLs) > 0 {
		return false
	}
	for _, l := range p.textLinks() {
		if to(p.text[l.start:l.end]) {
			return true
		}
	}
	return false
}

// hostIs reports whether a link's host is domain or one of its subdomains.
func hostIs(link, domain string) bool {
	if _, rest, ok := strings.Cut(link, "://"); ok {
		link = rest
	}
	if i := strings.IndexAny(link, "/?#:"); i >= 0 {
		link = link[:i]
	}
	n := len(link) - len(domain)
	return n >= 0 && strings.EqualFold(link[n:], domain) && (n == 0 || link[n-1] == '.')
}

// card evaluates the clauses about a post's card. A Tweet tells only whether there is a card.
// Polls and animated GIFs have their own fields.
func card(op opID, a *argument, p *post) verdict {
	t := p.tweet
	if op != opCardName {
		found := op == opCardURL && linkHas(p, a.literal)
		for i := range t.URLs {
			u := &t.URLs[i]
			found = found || op == opCardDomain && (hostIs(u.ExpandedURL, a.text) || hostIs(u.UnwoundURL, a.text))
		}
		return is(found && t.HasCard)
	}
	name := strings.ToLower(a.text)
	switch {
	case strings.HasPrefix(name, "poll"):
		return is(t.Poll != nil && len(name) > 4 && int(name[4]-'0') == len(t.Poll.Options) && strings.Contains(name, "choice") &&
			strings.HasSuffix(name, "image") == (len(t.Media) > 0))
	case name == "animated_gif":
		return is(hasMedia(t, "animated_gif"))
	case !t.HasCard:
		return no
	}
	return unknown
}
