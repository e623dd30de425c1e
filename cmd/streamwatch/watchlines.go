package main

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/fetcher"
)

// postLines prints a line for each post. Its methods are safe for concurrent use.
type postLines struct {
	mu     sync.Mutex
	w      io.Writer
	failed func(error)   // called when w fails
	shown  map[post]bool // posts that newest has printed
}

// post identifies a post.
type post struct{ platform, author, id string }

// found prints a post that was detected, unless newest did.
func (l *postLines) found(e deliver.Event) error {
	l.mu.Lock()
	shown := l.shown[post{e.Platform, e.AuthorUsername, e.TweetID}]
	l.mu.Unlock()
	if shown {
		return nil
	}
	return l.print(e.DetectedAt, e.Platform+":"+e.AuthorUsername, e.TextPreview, e.Latency.Round(100*time.Millisecond).String()+" late", e.TweetURL)
}

// newest prints the newest post of an account at the start. name is "source:account".
func (l *postLines) newest(name string, t fetcher.Tweet) error {
	platform, _, _ := strings.Cut(name, ":")
	l.mu.Lock()
	if l.shown == nil {
		l.shown = map[post]bool{}
	}
	l.shown[post{platform, t.Username, t.ID}] = true
	l.mu.Unlock()
	when := "newest"
	if t.PublishedAt.Unix() > 0 { // a feed's entry may have no date
		when += ", of " + t.PublishedAt.Local().Format(time.DateTime)
	}
	return l.print(time.Now(), name, t.Text, when, t.Permalink)
}

func (l *postLines) print(at time.Time, name, text, when, url string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, err := fmt.Fprintf(l.w, "%s  %-28s  \"%s\"  %s  %s\n", at.Local().Format("15:04:05"), plain(name), shortened(plain(text), 80), when, cmp.Or(plain(url), "-"))
	if err != nil {
		err = fmt.Errorf("posts cannot be printed: %w", err)
		l.failed(err)
	}
	return err
}

// plain returns the text as one line, without characters that control a terminal.
func plain(s string) string {
	return strings.Join(strings.FieldsFunc(s, func(r rune) bool {
		return unicode.IsSpace(r) || unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r)
	}), " ")
}

// shortened returns at most n characters of a text.
func shortened(s string, n int) string {
	if r := []rune(s); len(r) > n {
		return string(r[:n-1]) + "…"
	}
	return s
}
