package feed

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/mmcdole/gofeed"
	"github.com/mmcdole/gofeed/rss"
)

// readTTL is for how long an RSS feed says that it stays as it is: ttl, in minutes.
func readTTL(feed *gofeed.Feed) time.Duration {
	if f, ok := feed.OriginalFeed().(*rss.Feed); ok {
		if n, err := strconv.Atoi(strings.TrimSpace(f.TTL)); err == nil && n > 0 && n < 1<<20 {
			return time.Duration(n) * time.Minute
		}
	}
	return 0
}

// fresh is how long an answer may be used without asking again (RFC 9111, section 4.2.1:
// max-age, else Expires).
func fresh(h http.Header, now time.Time) time.Duration {
	age := time.Duration(-1)
	for _, line := range h.Values("Cache-Control") {
		for _, d := range strings.Split(line, ",") {
			name, value, _ := strings.Cut(strings.TrimSpace(d), "=")
			switch strings.ToLower(name) {
			case "no-cache", "no-store":
				return 0
			case "max-age":
				if n, err := strconv.ParseInt(strings.Trim(value, `"`), 10, 32); err == nil && n >= 0 {
					age = time.Duration(n) * time.Second
				}
			}
		}
	}
	if age >= 0 {
		if n, err := strconv.ParseInt(h.Get("Age"), 10, 32); err == nil && n > 0 {
			age -= time.Duration(n) * time.Second
		}
		return max(age, 0)
	}
	expires, err := http.ParseTime(h.Get("Expires"))
	if err != nil {
		return 0
	}
	if d, err := http.ParseTime(h.Get("Date")); err == nil {
		now = d
	}
	return max(expires.Sub(now), 0)
}
