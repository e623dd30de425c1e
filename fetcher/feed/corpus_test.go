package feed_test

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mmcdole/gofeed"

	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/fetcher/feed"
)

// served answers each URL with the document of its path.
type served map[string][]byte

func (s served) RoundTrip(req *http.Request) (*http.Response, error) {
	body, ok := s[req.URL.Path]
	resp := &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Request: req, Body: io.NopCloser(bytes.NewReader(body)), ContentLength: int64(len(body))}
	if !ok {
		resp.StatusCode = http.StatusNotFound
	}
	return resp, nil
}

// corpus are the documents that gofeed is tested with, in the module cache.
func corpus(t *testing.T) served {
	dir, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/mmcdole/gofeed").Output()
	root := filepath.Join(strings.TrimSpace(string(dir)), "testdata")
	if _, statErr := os.Stat(root); err != nil || statErr != nil {
		t.Skipf("SKIPPED: NO CORPUS: the module cache has no documents of gofeed: %v, %v", err, statErr)
	}
	docs := served{}
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.HasPrefix(d.Name(), "unknown_charset") {
			return err
		}
		var expected bool
		if ext := filepath.Ext(path); ext == ".json" { // mostly what a parser should give
			_, statErr := os.Stat(strings.TrimSuffix(path, ext) + ".xml")
			expected = statErr == nil
		}
		if expected {
			return nil
		}
		docs[fmt.Sprintf("/%d", len(docs))], err = os.ReadFile(path)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return docs
}

// Each item that gofeed finds in its own documents is a post once, and none is new when the
// feed is read again, also by the next process.
func TestCorpus(t *testing.T) {
	docs := corpus(t)
	open := func() *feed.Fetcher {
		f, err := feed.New(feed.Config{Transport: docs, HostGap: time.Nanosecond, MaxPause: -1})
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	f, next := open(), open()
	ids, read, posts := map[string]string{}, 0, 0
	for path, body := range docs {
		want, err := gofeed.NewParser().Parse(bytes.NewReader(body))
		if err != nil || want.FeedType == "json" && want.FeedVersion == "" && len(want.Items) == 0 {
			continue
		}
		q := fetcher.TimelineQuery{Username: "https://example.com" + path}
		page, err := f.Timeline(t.Context(), q)
		if err != nil {
			t.Errorf("%s: %v: %.300s", path, err, body)
			continue
		}
		distinct := map[string]bool{}
		for _, it := range want.Items {
			distinct[fmt.Sprintf("%q %q %q %q %q %q", it.GUID, it.Link, it.Title, it.Content, it.Description, it.Published)] = true
		}
		if len(page.Tweets) != len(distinct) {
			t.Errorf("%s: %d posts of %d items: %.300s", path, len(page.Tweets), len(distinct), body)
		}
		read++
		posts += len(page.Tweets)
		seen := map[string]bool{}
		for i := range page.Tweets {
			tw := &page.Tweets[i]
			if other, twice := ids[tw.ID]; twice || tw.ID == "" || tw.PublishedAt.IsZero() || tw.Entry == nil {
				t.Errorf("%s: %+v, the id of one in %q", path, tw, other)
			}
			ids[tw.ID], seen[tw.ID] = path, true
		}
		q.Seen = func(id string) bool { return seen[id] }
		for _, f := range []*feed.Fetcher{f, next} {
			if again, err := f.Timeline(t.Context(), q); err != nil || len(again.Tweets) != 0 || again.Skipped != len(page.Tweets) {
				t.Errorf("%s: read again, %d new posts and %d known, error %v, want none new", path, len(again.Tweets), again.Skipped, err)
			}
		}
	}
	t.Logf("%d feeds, %d posts", read, posts)
	if read < 300 || posts < 200 {
		t.Errorf("%d feeds with %d posts, want most of the documents", read, posts)
	}
}
