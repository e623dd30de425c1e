package websub

import (
	"net/http"
	"net/url"
	"strings"
)

// Links are what a feed says of its hubs, absolute.
type Links struct {
	Hubs []string // rel=hub, in order
	Self string   // rel=self, the topic; "" if it is not said
}

// Topic is a feed and the hubs that it may be had from. Feeds may claim each other's
// topics: with other hubs it is another Topic.
type Topic struct {
	URL  string
	hubs string // with spaces between them
}

// Topic is what the links say; the zero value without a hub.
func (l Links) Topic() Topic {
	if len(l.Hubs) == 0 {
		return Topic{}
	}
	return Topic{l.Self, strings.Join(l.Hubs, " ")}
}

// Hubs are the topic's, the best first.
func (t Topic) Hubs() []string { return strings.Fields(t.hubs) }

// Bounds of what is read of a feed's links.
const (
	maxHubs  = 4
	maxLink  = 2048     // bytes of an address
	maxLinks = 64       // in one header
	maxField = 16 << 10 // bytes of all Link headers together
)

// youTubeHub is the hub of all YouTube feeds, which do not name it.
const youTubeHub = "https://pubsubhubbub.appspot.com/subscribe"

// Discover decides what the topic of a feed is, and which its hubs are: the header's
// Link fields if they name a hub, else the links embedded in the feed. A feed that does
// not say rel=self is its own topic. Links are relative to address, from where the feed
// was read.
func Discover(header http.Header, embedded Links, address *url.URL) Links {
	found := parseHeader(header, address)
	if len(found.Hubs) == 0 {
		found.Hubs = resolveAll(embedded.Hubs, address)
	}
	if found.Self == "" {
		found.Self = resolve(embedded.Self, address)
	}
	if topic := youTubeTopic(address); topic != "" {
		return Links{Hubs: []string{youTubeHub}, Self: topic}
	}
	for i, hub := range found.Hubs {
		found.Hubs[i] = secure(hub)
	}
	if found.Self == "" {
		found.Self = resolve(address.String(), address)
	}
	return found
}

// youTubeTopic is the topic that YouTube's hub knows a feed by, "" for other feeds: the
// feed that can be read calls itself something else.
func youTubeTopic(address *url.URL) string {
	host := strings.TrimPrefix(strings.ToLower(address.Hostname()), "www.")
	if host != "youtube.com" || !strings.HasSuffix(address.Path, "/feeds/videos.xml") {
		return ""
	}
	channel := address.Query().Get("channel_id")
	if channel == "" {
		return ""
	}
	return "https://www.youtube.com/xml/feeds/videos.xml?channel_id=" + url.QueryEscape(channel)
}

// secure is a hub's address by https, where feeds name it by http and it is known to
// speak both: a secret is only given by https.
func secure(hub string) string {
	u, err := url.Parse(hub)
	if err != nil || u.Scheme != "http" || u.Port() != "" {
		return hub
	}
	if host := strings.ToLower(u.Hostname()); host == "pubsubhubbub.appspot.com" || host == "pubsubhubbub.superfeedr.com" || strings.HasSuffix(host, ".superfeedr.com") {
		u.Scheme = "https"
	}
	return u.String()
}

func parseHeader(header http.Header, base *url.URL) Links {
	var found Links
	room := maxField
	for _, field := range header.Values("Link") {
		if room -= len(field); room < 0 {
			break
		}
		for _, l := range parseLinks(field) {
			found.add(l, base)
		}
	}
	return found
}

func (f *Links) add(l link, base *url.URL) {
	for _, rel := range strings.Fields(strings.ToLower(l.rel)) {
		switch target := resolve(l.target, base); {
		case target == "":
		case rel == "hub" && len(f.Hubs) < maxHubs:
			f.Hubs = append(f.Hubs, target)
		case rel == "self" && f.Self == "":
			f.Self = target
		}
	}
}

func resolveAll(refs []string, base *url.URL) (all []string) {
	for _, ref := range refs {
		if target := resolve(ref, base); target != "" && len(all) < maxHubs {
			all = append(all, target)
		}
	}
	return all
}

// resolve makes a link absolute; "" is what cannot be one of http or https.
func resolve(ref string, base *url.URL) string {
	if ref = strings.TrimSpace(ref); ref == "" || len(ref) > maxLink {
		return ""
	}
	u, err := base.Parse(ref)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil {
		return ""
	}
	u.Fragment, u.RawFragment = "", ""
	return u.String()
}

// link is one of a Link header (RFC 8288).
type link struct{ target, rel string }

// parseLinks reads a Link header. What it cannot read ends it. A link with an anchor is
// about something else and is left out.
func parseLinks(s string) (links []link) {
	for len(links) < maxLinks {
		s = strings.TrimLeft(s, " \t,")
		rest, ok := strings.CutPrefix(s, "<")
		if !ok {
			return links
		}
		target, rest, ok := strings.Cut(rest, ">")
		if !ok {
			return links
		}
		l := link{target: target}
		anchored := false
		s, ok = parseParams(rest, func(name, value string) {
			switch {
			case name == "rel" && l.rel == "": // the first counts
				l.rel = value
			case name == "anchor":
				anchored = true
			}
		})
		if !anchored {
			links = append(links, l)
		}
		if !ok {
			return links
		}
	}
	return links
}

// parseParams reads the parameters of a link, and returns what follows its comma; ok is
// false where nothing that can be read does.
func parseParams(s string, param func(name, value string)) (rest string, ok bool) {
	for {
		s = strings.TrimLeft(s, " \t")
		switch {
		case s == "":
			return "", false
		case s[0] == ',':
			return s[1:], true
		case s[0] != ';':
			return "", false
		}
		s = strings.TrimLeft(s[1:], " \t")
		end := strings.IndexAny(s, "=;, \t")
		if end < 0 {
			end = len(s)
		}
		name := strings.ToLower(s[:end])
		s = strings.TrimLeft(s[end:], " \t")
		value := ""
		if rest, has := strings.CutPrefix(s, "="); has {
			if value, s, ok = parseValue(strings.TrimLeft(rest, " \t")); !ok {
				return "", false
			}
		}
		param(name, value)
	}
}

// parseValue reads a token or a quoted string.
func parseValue(s string) (value, rest string, ok bool) {
	if !strings.HasPrefix(s, `"`) {
		end := strings.IndexAny(s, ";, \t")
		if end < 0 {
			end = len(s)
		}
		return s[:end], s[end:], true
	}
	var b strings.Builder
	for i := 1; i < len(s); i++ {
		switch s[i] {
		case '"':
			return b.String(), s[i+1:], true
		case '\\':
			if i++; i == len(s) {
				return "", "", false
			}
		}
		b.WriteByte(s[i])
	}
	return "", "", false
}
