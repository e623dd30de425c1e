package feed_test

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/streamwatch/streamwatch/fetcher"
)

// The address of a web page is a common mistake: the error says so, and names the feed
// that the page links to.
func TestWebPage(t *testing.T) {
	for page, want := range map[string]string{
		`<!DOCTYPE html><html><head><title>t</title><link rel="stylesheet" href="s.css"><link rel="alternate" type="application/rss+xml" href="/rss.xml">`: "a web page, no feed: it links to the feed https://example.com/rss.xml",
		`<HTML><LINK HREF='https://f.example.com/a' TYPE=application/atom+xml REL=Alternate></HTML>`:                                                       "a web page, no feed: it links to the feed https://f.example.com/a",
		`<!-- c --><html><link rel="alternate" hreflang="de" href="/de">`:                                                                                  "a web page, no feed: want RSS",
		`<html><link rel="alternate" type="application/rss+xml" href="javascript:x">`:                                                                      "a web page, no feed: want RSS",
		`<sitemap></sitemap>`: "no feed: want RSS",
	} {
		f, _ := serving(t, nil, func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, page) })
		if _, err := newReader(t, f).try(); !errors.Is(err, fetcher.ErrMalformed) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %s", page, err, want)
		}
	}
}

// The error of an answer names the host, and quotes no web page.
func TestErrorOfAPage(t *testing.T) {
	f, _ := serving(t, nil, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.WriteHeader(http.StatusNotFound)
		io.WriteString(w, "<!DOCTYPE html><html><head><meta charset=utf-8>")
	})
	_, err := newReader(t, f).try()
	if !errors.Is(err, fetcher.ErrNotFound) || !strings.Contains(err.Error(), "example.com") || strings.Contains(err.Error(), "<") {
		t.Errorf("error %v, want an ErrNotFound of example.com without HTML", err)
	}
}
