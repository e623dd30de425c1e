package main

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/fetcher/feed"
	"github.com/streamwatch/streamwatch/fetcher/webscrape"
)

// inputs has feeds and pages beside the module, and cases.tsv that says what is right for each.
const inputs = "../../../shared/testdata/inputs"

// Each row of cases.tsv is served from a site of its own, as the row says.
func TestInputs(t *testing.T) {
	table, err := os.ReadFile(filepath.Join(inputs, "cases.tsv"))
	if err != nil {
		t.Skipf("SKIPPED: NO INPUTS: %v", err)
	}
	for _, line := range strings.Split(strings.TrimSpace(string(table)), "\n")[1:] {
		row := strings.Split(line, "\t")
		id, file, path, encoding, field, want := row[0], row[1], row[2], row[3], row[4], row[5]
		t.Run(id+" "+field, func(t *testing.T) {
			body, err := os.ReadFile(filepath.Join(inputs, file))
			if err != nil {
				t.Fatal(err)
			}
			site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path != path {
					http.NotFound(w, r)
					return
				}
				if w.Header().Set("Content-Type", "text/html"); field != "page" {
					w.Header().Set("Content-Type", "text/xml")
				}
				if encoding != "" {
					w.Header().Set("Content-Encoding", encoding)
				}
				_, _ = w.Write(body)
			}))
			defer site.Close()
			want := strings.ReplaceAll(want, "SITE", site.URL)
			if got := shown(t, field, site.URL+path); !slices.Contains(got, want) {
				t.Errorf("%s is %q, want %q", field, got, want)
			}
		})
	}
}

// shown returns what a field of cases.tsv names: of the first post of a feed, or of a page.
func shown(t *testing.T, field, url string) []string {
	t.Helper()
	words := func(s string) []string { return []string{strings.Join(strings.Fields(s), " ")} }
	if field == "page" {
		s, err := webscrape.New(webscrape.Config{AllowPrivate: true})
		if err != nil {
			t.Fatal(err)
		}
		page, err := s.Scrape(t.Context(), fetcher.ScrapeQuery{URL: url, Format: "text"})
		if err != nil {
			t.Fatal(err)
		}
		return words(page.Content)
	}
	f, err := feed.New(feed.Config{AllowPrivate: true})
	if err != nil {
		t.Fatal(err)
	}
	page, err := f.Timeline(t.Context(), fetcher.TimelineQuery{Username: url})
	if err != nil {
		t.Fatal(err)
	}
	if field == "count" {
		return []string{strconv.Itoa(len(page.Tweets))}
	}
	if len(page.Tweets) == 0 {
		t.Fatal("no post")
	}
	post := page.Tweets[0]
	switch field {
	case "link":
		return []string{post.Entry.Link}
	case "text":
		return []string{post.Text}
	case "full":
		return words(post.FullText)
	case "at":
		return []string{post.PublishedAt.UTC().Format(time.RFC3339)}
	case "url":
		var urls []string
		for _, u := range post.URLs {
			urls = append(urls, u.URL)
		}
		return urls
	}
	t.Fatalf("the field %q is unknown", field)
	return nil
}
