package recorder

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/detect/internal/poll"
	"github.com/streamwatch/streamwatch/fetcher"
)

// An event whose post is in no answer is hidden, too.
func TestEventsWithoutTheirPostAreHidden(t *testing.T) {
	at := time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)
	tw := fetcher.Tweet{ID: "1212092628029698048", Text: "Lift-off", Username: "NASA", Permalink: "https://private.example/1", PublishedAt: at}
	ev := deliver.Event{Source: deliver.Source{ID: "mon_1", Owner: "acme", Name: "My monitor"}, PublishedAt: at}
	poll.Describe(&ev, &tw)
	ev.Body = deliver.AppendBody(nil, &ev, &tw)
	for name, answers := range map[string][]poll.Answer{
		"no answer":         nil,
		"another's post":    {{Page: fetcher.Page{Tweets: []fetcher.Tweet{{ID: tw.ID, Username: "ESA", PublishedAt: at}}}}},
		"edited since then": {{Page: fetcher.Page{Tweets: []fetcher.Tweet{{ID: tw.ID, Username: "NASA", PublishedAt: at.Add(time.Second)}}}}},
	} {
		h := newHider(false)
		line, err := json.Marshal(h.event(&ev, answers))
		if err != nil {
			t.Fatal(err)
		}
		for _, secret := range []string{tw.ID, tw.Text, tw.Username, "private.example", "acme", "My monitor"} {
			if strings.Contains(string(line), secret) {
				t.Errorf("%s: the event has %q: %s", name, secret, line)
			}
		}
		if !strings.Contains(string(line), h.text(tw.ID)) {
			t.Errorf("%s: the event lacks its post's pseudonym: %s", name, line)
		}
	}
}
