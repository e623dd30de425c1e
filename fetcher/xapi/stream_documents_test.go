package xapi

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/fetcher"
)

// Lines in the shapes of the public documentation of X, docs.x.com/x-api/activity/event-payloads
// and docs.x.com/x-api/posts/filtered-stream. Names and contents are made up.

// activityCreate has the names of before August 2026, and counts twice.
const activityCreate = `{"data":{"event_uuid":"2080761390344937796","filter":{"user_id":"1111111111111111111"},"event_type":"post.create","tag":"posts",
"payload":{"public_metrics":{"retweet_count":2,"retweet_count_str":"2","reply_count":0,"reply_count_str":"0","like_count":3,"like_count_str":"3"},
 "lang":"en","created_at":"2026-07-24T21:05:48.000Z","author_id":"1111111111111111111","reply_settings":"everyone","display_text_range":[0,34],
 "paid_partnership":false,"id":"2080761390344937796","possibly_sensitive":false,"edit_history_tweet_ids":["2080761269309813134","2080761390344937796"],
 "conversation_id":"2080761269309813134","in_reply_to_user_id":"7","referenced_tweets":[{"type":"replied_to","id":"2080761269309810000"}],
 "text":"Hello from the baker","note_tweet":{"text":"Hello from the baker, at length"},
 "edit_controls":{"edits_remaining":4,"edits_remaining_str":"4","is_edit_eligible":true,"editable_until":"2026-07-24T22:05:48.000Z"}},
"includes":{"tweets":[{"id":"2080761390344937796","text":"Hello from the baker"}],
 "users":[{"entities":{"description":{"mentions":[{"start":49,"start_str":"49","end":51,"end_str":"51","username":"X"}]}},"name":"Ann the baker","protected":false,
  "verified":true,"username":"ann","verified_type":"blue","pinned_tweet_id":"1968451310203859083","created_at":"2023-10-23T13:44:53.000Z","id":"1111111111111111111",
  "affiliation":{"user_id":["783214"]},"most_recent_tweet_id":"2080761390344937796","public_metrics":{"followers_count":5502,"followers_count_str":"5502","tweet_count":790,"tweet_count_str":"790"}}]}}}`

// activityDelete has its users wrapped, and a negative id of the event.
const activityDelete = `{"data":{"event_uuid":"-2781149976877970683","filter":{"user_id":"1111111111111111111"},"event_type":"post.delete","tag":"post-deletes",
"payload":{"id":"2080761269309813134","author_id":"1111111111111111111"},
"includes":{"users":[{"data":{"protected":false,"id":"1111111111111111111","username":"ann","name":"Ann the baker","public_metrics":{"tweet_count":789,"tweet_count_str":"789"}}}]}}}`

const filteredLine = `{"data":{"author_id":"1111111111111111111","id":"2080761390344937796","text":"RT @bob: a cake","created_at":"2026-07-24T21:05:48.000Z",
"referenced_tweets":[{"type":"retweeted","id":"2080761269309813134"}],"public_metrics":{"retweet_count":2,"like_count":3}},
"includes":{"users":[{"id":"1111111111111111111","name":"Ann the baker","username":"ann"}],"tweets":[{"id":"2080761269309813134","text":"a cake","author_id":"7"}]},
"matching_rules":[{"id":"1166916266197536768","tag":"streamwatch:0123456789abcdef"},{"id":"1166916266197536769","tag":"streamwatch:0123456789abcdef"},{"id":"7"}]}`

// before writes a document in the names of before August 2026, which streams have.
func before(doc string) string { return renames(1, 0).Replace(doc) }

// today writes a line in the names since.
func today(line string) string { return renames(0, 1).Replace(line) }

func renames(from, to int) *strings.Replacer {
	var pairs []string
	for _, n := range [][2]string{{"edit_history_tweet_ids", "edit_history_post_ids"}, {"referenced_tweets", "referenced_posts"}, {"note_tweet", "note_post"},
		{`"retweet_count"`, `"repost_count"`}, {`"tweet_count"`, `"post_count"`}, {`"tweets"`, `"posts"`}} {
		pairs = append(pairs, n[from], n[to])
	}
	return strings.NewReplacer(pairs...)
}

// documentSubscriptions are those to an account, which is told.
func documentSubscriptions() *subscriptions {
	return &subscriptions{client: documentClient(), told: map[string]fetcher.Account{"1111111111111111111": {Username: "Ann", UserID: "1111111111111111111"}}}
}

func documentRules() *rules {
	return &rules{client: documentClient(), byTag: map[string]*wantedRule{"streamwatch:0123456789abcdef": {queries: []string{"cake"}}}}
}

func documentClient() *client {
	return &client{now: func() time.Time { return time.Unix(1.8e9, 0) }, ledger: newLedger(100)}
}

func TestActivityDocuments(t *testing.T) {
	for _, line := range []string{activityCreate, today(activityCreate)} {
		e := documentSubscriptions()
		g, err := e.signal([]byte(line))
		if err != nil || g.Kind != fetcher.SignalPost || g.Billed.Events != 1 {
			t.Fatalf("%+v, %v: want a post", g, err)
		}
		p := g.Post
		if p.ID != "2080761390344937796" || p.Text != "Hello from the baker" || p.FullText != "Hello from the baker, at length" || p.UserID != "1111111111111111111" ||
			p.Username != "ann" || p.InReplyToUserID != "7" || p.InReplyToStatusID != "2080761269309810000" || p.RetweetCount != 2 || p.FavoriteCount != 3 ||
			!slices.Equal(p.EditTweetIDs, []string{"2080761269309813134", "2080761390344937796"}) || p.EditsRemaining != 4 ||
			p.User == nil || p.User.TweetCount != 790 || p.User.FollowersCount != 5502 || p.PublishedAt.Format("2006-01-02T15:04") != "2026-07-24T21:05" {
			t.Errorf("the post %+v by %+v", p, p.User)
		}
		if again, _ := e.signal([]byte(line)); again.Billed.Events != 0 {
			t.Errorf("the same event again is billed: %+v", again.Billed)
		}
		g, err = e.signal([]byte(activityDelete))
		if err != nil || g.Kind != fetcher.SignalDelete || g.ID != "2080761269309813134" || g.Billed.Events != 1 {
			t.Errorf("%+v, %v: want a deletion", g, err)
		}
		if again, _ := e.signal([]byte(activityDelete)); again.Billed.Events != 0 {
			t.Errorf("the same deletion again is billed: %+v", again.Billed)
		}
	}
}

func TestFilteredStreamDocuments(t *testing.T) {
	for _, line := range []string{filteredLine, today(filteredLine)} {
		g, err := documentRules().signal([]byte(line))
		if err != nil || g.Kind != fetcher.SignalPost || !slices.Equal(g.Queries, []string{"cake"}) || g.Billed != (fetcher.Billed{Posts: 2, Users: 1}) {
			t.Fatalf("%+v, %v: want a post of the query cake, and what it includes billed", g, err)
		}
		if p := g.Post; p.Username != "ann" || !p.IsRetweet || p.RetweetedStatusID != "2080761269309813134" || p.FullText != "RT @bob: a cake" || p.RetweetCount != 2 {
			t.Errorf("the post %+v", p)
		}
	}
}

// Whatever X sends, a line is a signal that is whole, or the stream's end.
func FuzzStreamLine(f *testing.F) {
	for _, seed := range []string{activityCreate, today(activityCreate), activityDelete, filteredLine, today(filteredLine),
		`{"errors":[{"title":"operational-disconnect","disconnect_type":"ForceDisconnect"}]}`, `{"data":{"event_type":"post.create","payload":null,"includes":[]}}`, `{"data":[]}`, `null`, `"x"`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		for _, signal := range []func([]byte) (fetcher.Signal, error){documentSubscriptions().signal, documentRules().signal} {
			g, err := signal(line)
			if err != nil {
				continue
			}
			switch g.Kind {
			case fetcher.SignalPost:
				if g.Post == nil || g.Post.ID == "" {
					t.Errorf("a post without an id: %+v", g)
				}
			case fetcher.SignalDelete:
				if g.ID == "" {
					t.Errorf("a deletion without an id: %+v", g)
				}
			case fetcher.SignalGap, fetcher.SignalHeartbeat:
				if g.Post != nil {
					t.Errorf("%+v with a post", g)
				}
			default:
				t.Errorf("%+v", g)
			}
		}
	})
}

// What is not allowed in the settings, and that the token does not show.
func TestStreamSettings(t *testing.T) {
	for want, make := range map[string]func() error{
		"ActivityConfig.Token":               func() error { _, err := NewActivity(ActivityConfig{}); return err },
		`ActivityConfig.Tag "a\tb"`:          func() error { _, err := NewActivity(ActivityConfig{Token: "t", Tag: "a\tb"}); return err },
		"ActivityConfig.MaxSubscriptions -1": func() error { _, err := NewActivity(ActivityConfig{Token: "t", MaxSubscriptions: -1}); return err },
		"ActivityConfig.HTTP with a Timeout of 1ns": func() error {
			_, err := NewActivity(ActivityConfig{Token: "t", HTTP: &http.Client{Timeout: 1}})
			return err
		},
		"BaseURL":                    func() error { _, err := NewActivity(ActivityConfig{Token: "t", BaseURL: "ftp://x"}); return err },
		"FilteredStreamConfig.Token": func() error { _, err := NewFilteredStream(FilteredStreamConfig{}); return err },
		"FilteredStreamConfig.MaxRules 25001": func() error {
			_, err := NewFilteredStream(FilteredStreamConfig{Token: "t", MaxRules: 25_001})
			return err
		},
		"FilteredStreamConfig.RuleLength -5": func() error {
			_, err := NewFilteredStream(FilteredStreamConfig{Token: "t", RuleLength: -5})
			return err
		},
	} {
		if err := make(); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "want") {
			t.Errorf("%v, want one that names %s and what is allowed", err, want)
		}
	}
	a, err := NewActivity(ActivityConfig{Token: "t0k"})
	if err != nil {
		t.Fatal(err)
	}
	s, err := NewFilteredStream(FilteredStreamConfig{Token: "t0k"})
	if err != nil {
		t.Fatal(err)
	}
	if text := fmt.Sprintf("%+v %+v %+v %+v", ActivityConfig{Token: "t0k"}, FilteredStreamConfig{Token: "t0k"}, a, s); strings.Contains(text, "t0k") {
		t.Error(text)
	}
}
