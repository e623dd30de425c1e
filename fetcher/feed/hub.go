package feed

import (
	"net/url"
	"strings"
	"time"

	"github.com/streamwatch/streamwatch/fetcher/feed/internal/websub"
)

const (
	maxHubs = 4 // of a feed
	// youTubeHub is the hub of all YouTube feeds, which do not name it.
	youTubeHub = "https://pubsubhubbub.appspot.com/subscribe"
)

// topicOf is what a feed says of its hubs, the zero Topic without one. A feed that does not
// say rel=self is its own topic.
func (f *Fetcher) topicOf(doc *document, address *url.URL) websub.Topic {
	if topic := youTubeTopic(address); topic != "" {
		return websub.NewTopic(topic, youTubeHub)
	}
	var hubs []string
	for _, hub := range doc.hubs {
		u, err := parseURL(hub, maxURL, f.cfg.AllowPrivate)
		if err != nil || len(hubs) == maxHubs {
			continue
		}
		if u.Scheme == "http" && speaksHTTPS(u.Host) {
			u.Scheme = "https"
		}
		hubs = append(hubs, u.String())
	}
	topic := doc.self
	if topic == "" || len(topic) > maxURL {
		topic = address.String()
	}
	return websub.NewTopic(topic, hubs...)
}

// youTubeTopic is the topic that YouTube's hub knows a feed by, "" for other feeds: the
// feed that can be read calls itself something else.
func youTubeTopic(address *url.URL) string {
	host := strings.TrimPrefix(address.Hostname(), "www.")
	if host != "youtube.com" || !strings.HasSuffix(address.Path, "/feeds/videos.xml") {
		return ""
	}
	channel := address.Query().Get("channel_id")
	if channel == "" {
		return ""
	}
	return "https://www.youtube.com/xml/feeds/videos.xml?channel_id=" + url.QueryEscape(channel)
}

// speaksHTTPS reports whether a hub that feeds name by http takes https, too: a secret is
// given only by that.
func speaksHTTPS(host string) bool {
	return host == "pubsubhubbub.appspot.com" || host == "pubsubhubbub.superfeedr.com" || strings.HasSuffix(host, ".superfeedr.com")
}

// named notes a feed's topic. One that names no hub for once keeps the one it had.
func (f *Fetcher) named(a *account, s *state, topic websub.Topic) {
	if topic == (websub.Topic{}) {
		return
	}
	s.set(func(p *polled) { p.topic = topic })
	if w := f.webSub.Load(); w != nil {
		w.named(a.id, topic)
	}
}

// known returns what is kept of a feed, nil for nothing.
func (f *Fetcher) known(id string) *state {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.feeds[id]
}

// topic returns the topic of a feed that was read, by its account.id.
func (f *Fetcher) topic(id string) websub.Topic {
	if s := f.known(id); s != nil {
		return s.get().topic
	}
	return websub.Topic{}
}

// endPause has a feed read by the next poll, whatever pause it has asked for.
func (f *Fetcher) endPause(id string) {
	if s := f.known(id); s != nil {
		s.set(func(p *polled) { p.pause = time.Time{} })
	}
}
