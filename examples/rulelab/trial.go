package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/rule/query"
)

// trial counts the posts of the past that a rule would have matched.
type trial struct {
	posts, hits, unknown int
	first, last          time.Time // when the earliest and latest were published
}

// readPosts calls each with every post of r. Each line of r is one post in the wire format.
func readPosts(r io.Reader, each func(*fetcher.Tweet)) error {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 1<<20)
	for n := 1; lines.Scan(); n++ {
		if len(lines.Bytes()) == 0 {
			continue
		}
		t := new(fetcher.Tweet)
		if err := json.Unmarshal(lines.Bytes(), t); err != nil {
			return fmt.Errorf("line %d is not a post: %w", n, err)
		}
		at, ok := fetcher.SnowflakeTime(t.ID)
		if !ok {
			at, _ = fetcher.ParseTime(t.CreatedAt)
		}
		t.PublishedAt = at
		each(t)
	}
	return lines.Err()
}

// add counts a post.
func (tr *trial) add(t *fetcher.Tweet, v query.Verdict) {
	tr.posts++
	switch v {
	case query.Yes:
		tr.hits++
	case query.Unknown:
		tr.unknown++
	}
	if at := t.PublishedAt; !at.IsZero() {
		if tr.first.IsZero() || at.Before(tr.first) {
			tr.first = at
		}
		if at.After(tr.last) {
			tr.last = at
		}
	}
}

// perDay returns how many posts match per day, or 0 if all posts have the same time.
func (tr *trial) perDay() float64 {
	if span := tr.last.Sub(tr.first); span > 0 {
		return float64(tr.hits) * float64(24*time.Hour) / float64(span)
	}
	return 0
}
