package fakeserver

import (
	"crypto/sha256"
	"encoding/xml"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/streamwatch/streamwatch/fetcher"
)

// feedPosts is how many posts a feed has.
const feedPosts = 20

// rss is RSS 2.0, as Mastodon has it.
type rss struct {
	XMLName xml.Name `xml:"rss"`
	Version string   `xml:"version,attr"`
	Title   string   `xml:"channel>title"`
	Link    string   `xml:"channel>link"`
	Items   []item   `xml:"channel>item"`
}

type item struct {
	GUID        string `xml:"guid"`
	Link        string `xml:"link"`
	PubDate     string `xml:"pubDate"`
	Description string `xml:"description"`
}

// feed answers /@handle.rss.
func (s *Server) feed(w http.ResponseWriter, r *http.Request) {
	name, isFeed := strings.CutSuffix(strings.TrimPrefix(r.PathValue("page"), "@"), ".rss")
	index := slices.Index(s.names, strings.ToLower(name))
	if !isFeed || index < 0 {
		refuse(w, http.StatusNotFound, "The page you are looking for isn't here")
		return
	}
	s.mu.Lock()
	posts := slices.Clone(s.newest[index])
	s.mu.Unlock()
	slices.Reverse(posts)
	doc := rss{Version: "2.0", Title: s.names[index], Link: "http://" + r.Host + "/@" + s.names[index]}
	for i := range posts {
		doc.Items = append(doc.Items, entry(&posts[i]))
	}
	body, err := xml.Marshal(doc)
	if err != nil {
		refuse(w, http.StatusInternalServerError, err.Error())
		return
	}
	tag := fmt.Sprintf(`"%x"`, sha256.Sum256(body))
	w.Header().Set("ETag", tag)
	w.Header().Set("Content-Type", "application/rss+xml; charset=utf-8")
	if r.Header.Get("If-None-Match") == tag {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	_, _ = w.Write(append([]byte(xml.Header), body...))
}

func entry(t *fetcher.Tweet) item {
	return item{GUID: t.Permalink, Link: t.Permalink, PubDate: t.PublishedAt.UTC().Format(time.RFC1123Z), Description: t.Text}
}
