package feed

import (
	"net/url"
	"strings"
	"time"

	"github.com/streamwatch/streamwatch/fetcher/feed/internal/websub"
)

const (
	maxHubs = 4 // per feed
	// youTubeHub is the hub of all YouTube feeds. The feeds do not name it.
	youTubeHub = "https://pubsubhubbub.appspot.com/subscribe"
)

// topicOf returns the topic and hubs that a feed names, or the zero Topic if it has no hub.
// If the feed has no link with rel=self, its URL is the topic.
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

// youTubeTopic returns the topic that YouTube's hub uses for a feed. It differs from the topic
// in the feed. For feeds of other sites it returns "".
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

// speaksHTTPS reports whether a hub supports https although feeds name it with http. A secret
// is sent by https only.
func speaksHTTPS(host string) bool {
	return host == "pubsubhubbub.appspot.com" || host == "pubsubhubbub.superfeedr.com" || strings.HasSuffix(host, ".superfeedr.com")
}

// named stores a feed's topic. It ignores the zero Topic: a document without a hub does not
// remove the topic.
func (f *Fetcher) named(a *account, s *state, topic websub.Topic) {
	if topic == (websub.Topic{}) {
		return
	}
	s.set(func(p *polled) { p.topic = topic })
	if w := f.webSub.Load(); w != nil {
		w.named(a.id, topic)
	}
}

// known returns the state of a feed by its account.id, or nil if there is none.
func (f *Fetcher) known(id string) *state {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.feeds[id]
}

// topic returns the stored topic of a feed, by its account.id.
func (f *Fetcher) topic(id string) websub.Topic {
	if s := f.known(id); s != nil {
		return s.get().topic
	}
	return websub.Topic{}
}

// endPause ends the pause that a feed has asked for, so that the next poll requests the feed.
func (f *Fetcher) endPause(id string) {
	if s := f.known(id); s != nil {
		s.set(func(p *polled) { p.pause = time.Time{} })
	}
}
