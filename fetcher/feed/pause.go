package feed

import (
	"strconv"
	"strings"
	"time"

	"github.com/mmcdole/gofeed"
	"github.com/mmcdole/gofeed/rss"
)

// pauses takes over when an RSS feed does not want to be read: ttl in minutes, skipHours
// and skipDays in GMT.
func (d *document) pauses(feed *gofeed.Feed) {
	f, ok := feed.OriginalFeed().(*rss.Feed)
	if !ok {
		return
	}
	if n, err := strconv.Atoi(strings.TrimSpace(f.TTL)); err == nil && n > 0 && n < 1<<20 {
		d.ttl = time.Duration(n) * time.Minute
	}
	for _, text := range f.SkipHours {
		if n, err := strconv.Atoi(strings.TrimSpace(text)); err == nil && n >= 0 && n <= 24 {
			d.skipHours[n%24] = true
		}
	}
	for _, text := range f.SkipDays {
		for day := time.Sunday; day <= time.Saturday; day++ {
			if strings.EqualFold(strings.TrimSpace(text), day.String()) {
				d.skipDays[day] = true
			}
		}
	}
}
