package recorder_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch/detect/recorder"
	"github.com/streamwatch/streamwatch/enginetest"
	"github.com/streamwatch/streamwatch/fetcher"
)

// anew is an account that is deleted after a while, and made anew later.
type anew struct{ start time.Time }

func (a anew) Timeline(_ context.Context, q fetcher.TimelineQuery) (fetcher.Page, error) {
	id := ""
	switch age := time.Since(a.start); {
	case age < 30*time.Second:
		id = "1"
	case age > 90*time.Second:
		id = "2"
	}
	if id == "" || q.UserID != "" && q.UserID != id {
		return fetcher.Page{}, fetcher.ErrNotFound
	}
	return fetcher.Page{UserID: id, Tweets: []fetcher.Tweet{{ID: "of " + id, Text: "a post", UserID: id, PublishedAt: time.Now().Truncate(time.Second)}}}, nil
}

// A recording plays from any of its polls on, also while an account is asked for by its name
// in place of an id that is not found.
func TestAccountMadeAnewPlays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		text, _ := dumped(t, recorder.Options{}, anew{time.Now()})
		polls := strings.Count(text, "\n"+`{"poll":`)
		if polls < 6 || !strings.Contains(text, `"by_name":true`) {
			t.Fatalf("%d polls: want 6 and more, some of an account that is missing", polls)
		}
		for first := range polls {
			var part strings.Builder
			n := 0
			for line := range strings.Lines(text) {
				switch {
				case strings.HasPrefix(line, `{"end":`):
					line = fmt.Sprintf(`{"end":{"polls":%d}}`+"\n", polls-first)
				case strings.HasPrefix(line, `{"poll":`):
					if n++; n <= first {
						continue
					}
				}
				part.WriteString(line)
			}
			if played := enginetest.Replay(t, zipped(t, part.String())); played.Polls != polls-first {
				t.Errorf("played %+v of %d polls", played, polls-first)
			}
		}
	})
}
