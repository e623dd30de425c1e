package deliver_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/deliver/internal/delivertest"
	"github.com/streamwatch/streamwatch/fetcher"
)

// The event that is sent, its times, and its body after a change.
var (
	published, detected = delivertest.Published, delivertest.Detected
	sample, edited      = delivertest.Sample, delivertest.Body
)

func TestAppendBody(t *testing.T) {
	got := string(edited(nil))
	const head = `{"event":"tweet.detected","monitor_id":"mon_1","monitor_name":"space","tweet_id":"2080761390344937796",` +
		`"author_username":"nasa","tweet_text":"in full: <b>\"é\" & 🧵</b>",` +
		`"tweet_url":"https://x.com/nasa/status/2080761390344937796","tweet_published_at":"2026-07-24T21:05:48.792Z",` +
		`"detected_at":"2026-07-24T21:05:50.026Z","latency_ms":1234,"tweet_data":{"id":"2080761390344937796","text":"cut…",`
	const tail = `,"user":{"id":"42","username":"nasa","name":"NASA","created_at":"","description":null,"location":null,` +
		`"url":null,"profile_image_url":null,"profile_banner_url":null,"followers_count":0,"following_count":0,` +
		`"tweet_count":0,"listed_count":0,"favourites_count":null,"media_count":null,"verified":false,` +
		`"verified_type":null,"is_blue_verified":null,"created_at_datetime":null,"protected":null,` +
		`"possibly_sensitive":null,"followed_by":null,"following":null,"can_dm":null,"professional_type":null,` +
		`"pinned_tweet_ids":null}}}`
	if !strings.HasPrefix(got, head) || !strings.HasSuffix(got, tail) || !strings.Contains(got, `,"media":[],`) {
		t.Errorf("got\n%s\nwant\n%s … %s", got, head, tail)
	}
	if !json.Valid([]byte(got)) {
		t.Error("not JSON")
	}
}

// The stamps that are not on the wire leave the bytes as they are: a journal
// sets CommittedAt after the body is made.
func TestBodyHasNoOtherStamps(t *testing.T) {
	got := edited(func(e *deliver.Event, _ *fetcher.Tweet) {
		e.EarliestAt, e.RequestedAt, e.FetchedAt, e.CommittedAt = published, published, published, detected
	})
	if want := edited(nil); !bytes.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestAppendBodyMembers(t *testing.T) {
	tests := []struct {
		name   string
		change func(*deliver.Event, *fetcher.Tweet)
		has    string
		hasNot string
	}{
		{
			name:   "a rule's event names the rule",
			change: func(e *deliver.Event, _ *fetcher.Tweet) { e.Source.Kind = deliver.SourceRule },
			has:    `{"event":"tweet.detected","rule_id":"mon_1","rule_tag":"space","tweet_id":`, hasNot: `"monitor_`,
		},
		{
			name:   "text when there is no full text",
			change: func(_ *deliver.Event, t *fetcher.Tweet) { t.FullText = "" },
			has:    `"tweet_text":"cut…"`,
		},
		{
			name:   "a whole second has its zeros",
			change: func(e *deliver.Event, _ *fetcher.Tweet) { e.DetectedAt = published.Truncate(time.Second) },
			has:    `"detected_at":"2026-07-24T21:05:48.000Z"`,
		},
		{
			name: "times are in UTC",
			change: func(e *deliver.Event, _ *fetcher.Tweet) {
				e.PublishedAt = published.In(time.FixedZone("", 5*3600))
				e.DetectedAt = detected.In(time.FixedZone("", -5*3600))
			},
			has: `"tweet_published_at":"2026-07-24T21:05:48.792Z","detected_at":"2026-07-24T21:05:50.026Z"`,
		},
		{
			name:   "latency under a millisecond",
			change: func(e *deliver.Event, _ *fetcher.Tweet) { e.Latency = 999 * time.Microsecond },
			has:    `"latency_ms":0,`,
		},
		{
			name:   "the platform's author record is used",
			change: func(_ *deliver.Event, t *fetcher.Tweet) { t.User = &fetcher.User{ID: "43", FollowersCount: 7} },
			has:    `"user":{"id":"43",`, hasNot: `"id":"42"`,
		},
		{
			name:   "media",
			change: func(_ *deliver.Event, t *fetcher.Tweet) { t.Media = []fetcher.Media{{MediaKey: "3_1", Type: "photo"}} },
			has:    `"media":[{"media_key":"3_1","type":"photo",`,
		},
		{
			name:   "invalid UTF-8 is replaced",
			change: func(e *deliver.Event, _ *fetcher.Tweet) { e.Source.Name = "a\xffb" },
			has:    "\"monitor_name\":\"a\ufffdb\"",
		},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			got := string(edited(tc.change))
			if !json.Valid([]byte(got)) || !strings.Contains(got, tc.has) {
				t.Errorf("no %s in %s", tc.has, got)
			}
			if tc.hasNot != "" && strings.Contains(got, tc.hasNot) {
				t.Errorf("%s in %s", tc.hasNot, got)
			}
		})
	}
}

func TestAppendBodyLeavesItsArgumentsAlone(t *testing.T) {
	e, post := sample()
	e2, post2 := sample()
	got := deliver.AppendBody([]byte("before "), e, post)
	if !bytes.HasPrefix(got, []byte(`before {"event"`)) {
		t.Errorf("does not append: %s", got)
	}
	if !reflect.DeepEqual(e, e2) || !reflect.DeepEqual(post, post2) {
		t.Error("the event or the post changed")
	}
}

func TestAppendBodyDoesNotAllocate(t *testing.T) {
	e, post := sample()
	withUser := *post
	withUser.User = &fetcher.User{ID: "42"}
	buf := make([]byte, 0, 8<<10)
	for _, p := range []*fetcher.Tweet{post, &withUser} {
		if n := testing.AllocsPerRun(200, func() { deliver.AppendBody(buf, e, p) }); n != 0 {
			t.Errorf("%v allocations, want 0", n)
		}
	}
}

func TestParseBody(t *testing.T) {
	e, post := sample()
	got, err := deliver.ParseBody(deliver.AppendBody(nil, e, post))
	if err != nil {
		t.Fatal(err)
	}
	data := got.Tweet
	got.Tweet = fetcher.Tweet{}
	want := deliver.Detected{
		Event: "tweet.detected", MonitorID: "mon_1", MonitorName: "space", TweetID: e.TweetID, AuthorUsername: "nasa",
		TweetText: post.FullText, TweetURL: e.TweetURL, PublishedAt: published,
		DetectedAt: detected.Truncate(time.Millisecond), Latency: 1234 * time.Millisecond,
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v\nwant %+v", got, want)
	}
	if data.ID != post.ID || data.Text != post.Text || data.User == nil || data.User.Name != "NASA" || data.Media == nil {
		t.Errorf("tweet_data reads as %+v", data)
	}
	if !data.PublishedAt.Equal(published) || data.Permalink != e.TweetURL {
		t.Errorf("PublishedAt %v, Permalink %q, want those of the event", data.PublishedAt, data.Permalink)
	}

	rule, err := deliver.ParseBody(edited(func(e *deliver.Event, _ *fetcher.Tweet) { e.Source.Kind = deliver.SourceRule }))
	if err != nil || rule.RuleID != "mon_1" || rule.RuleTag != "space" || rule.MonitorID != "" {
		t.Errorf("a rule's event reads as %+v, %v", rule, err)
	}
	unknown := bytes.Replace(edited(nil), []byte(`{"event"`), []byte(`{"test":true,"event"`), 1)
	if _, err := deliver.ParseBody(unknown); err != nil {
		t.Errorf("a member that is not known: %v, want none", err)
	}
}

func TestParseBodyRefuses(t *testing.T) {
	tests := []struct {
		name, old, new string // a replacement in the sample's body
		field          string // of the FieldError; "" for another error
	}{
		{"another event", `"tweet.detected"`, `"tweet.deleted"`, "event"},
		{"no event", `"event":`, `"x":`, "event"},
		{"neither monitor nor rule", `"monitor_id":`, `"x":`, "monitor_id"},
		{"both monitor and rule", `"monitor_id":`, `"rule_id":"r","rule_tag":"t","monitor_id":`, "rule_id"},
		{"no monitor name", `"monitor_name":`, `"x":`, "monitor_name"},
		{"empty monitor id", `"mon_1"`, `""`, "monitor_id"},
		{"empty tweet id", `"tweet_id":"2080761390344937796"`, `"tweet_id":""`, "tweet_id"},
		{"no author", `"author_username":`, `"x":`, "author_username"},
		{"text is null", `"tweet_text":"in full: <b>\"é\" & 🧵</b>"`, `"tweet_text":null`, "tweet_text"},
		{"no url", `"tweet_url":`, `"x":`, "tweet_url"},
		{"time without milliseconds", `48.792Z`, `48Z`, "tweet_published_at"},
		{"time with microseconds", `50.026Z`, `50.026123Z`, "detected_at"},
		{"time with an offset", `50.026Z`, `50.026+00:00`, "detected_at"},
		{"no such day", `"detected_at":"2026-07-24`, `"detected_at":"2026-02-30`, "detected_at"},
		{"latency missing", `"latency_ms":`, `"x":`, "latency_ms"},
		{"latency negative", `"latency_ms":1234`, `"latency_ms":-1`, "latency_ms"},
		{"latency over 64 bits of nanoseconds", `"latency_ms":1234`, `"latency_ms":9223372036855`, "latency_ms"},
		{"latency is a string", `"latency_ms":1234`, `"latency_ms":"1235"`, "latency_ms"},
		{"latency has a fraction", `"latency_ms":1234`, `"latency_ms":1.5`, "latency_ms"},
		{"no tweet_data", `"tweet_data":`, `"x":`, "tweet_data"},
		{"tweet_data is a list", `"tweet_data":{`, `"tweet_data":[],"x":{`, "tweet_data"},
		{"a wrong type inside", `"favorite_count":0`, `"favorite_count":"0"`, "tweet_data.favorite_count"},
		{"cut short", `null}}}`, `null}}`, ""},
		{"something after it", `null}}}`, `null}}}{}`, ""},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			in := strings.Replace(string(edited(nil)), tc.old, tc.new, 1)
			_, err := deliver.ParseBody([]byte(in))
			var fe *deliver.FieldError
			switch {
			case err == nil:
				t.Error("no error")
			case errors.As(err, &fe) != (tc.field != ""):
				t.Errorf("error %v, want one about %q", err, tc.field)
			case fe != nil && fe.Wire != tc.field:
				t.Errorf("error about %s, want %s: %v", fe.Wire, tc.field, err)
			}
		})
	}
	for _, in := range []string{"", "null", "[]", `"x"`, "<html>", "{}"} {
		if _, err := deliver.ParseBody([]byte(in)); err == nil {
			t.Errorf("ParseBody(%q) gave no error", in)
		}
	}
}

// FuzzParseBody: what can be read can be written, and reads the same again.
func FuzzParseBody(f *testing.F) {
	f.Add(edited(nil))
	f.Add(edited(func(e *deliver.Event, t *fetcher.Tweet) {
		e.Source.Kind, t.User = deliver.SourceRule, &fetcher.User{PinnedTweetIDs: []string{"1"}}
		t.Hashtags = []fetcher.Hashtag{{Text: "x", Indices: []int{0, 2}}}
		t.Poll, t.Place = &fetcher.Poll{Options: []fetcher.PollOption{{Position: 1}}}, &fetcher.Place{}
	}))
	f.Add([]byte(`{"event":"tweet.detected","latency_ms":1e3}`))
	f.Add([]byte(`null`))
	write := func(d deliver.Detected) []byte {
		e := deliver.Event{
			Source:  deliver.Source{Kind: deliver.SourceMonitor, ID: d.MonitorID, Name: d.MonitorName},
			TweetID: d.TweetID, AuthorUsername: d.AuthorUsername, TweetURL: d.TweetURL,
			PublishedAt: d.PublishedAt, DetectedAt: d.DetectedAt, Latency: d.Latency,
		}
		if d.RuleID != "" {
			e.Source = deliver.Source{Kind: deliver.SourceRule, ID: d.RuleID, Name: d.RuleTag}
		}
		d.Tweet.FullText = d.TweetText
		return deliver.AppendBody(nil, &e, &d.Tweet)
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		d, err := deliver.ParseBody(in)
		if err != nil {
			return
		}
		first := write(d)
		again, err := deliver.ParseBody(first)
		if d.TweetText == "" && d.Tweet.Text != "" {
			return // the text then comes from another member
		}
		if err != nil {
			t.Fatalf("own body refused: %v\n%s", err, first)
		}
		if second := write(again); !bytes.Equal(first, second) {
			t.Fatalf("changed by a round trip:\n%s\n%s", first, second)
		}
	})
}

func BenchmarkAppendBody(b *testing.B) {
	e, post := sample()
	b.Run("AppendBody", func(b *testing.B) {
		b.ReportAllocs()
		buf := make([]byte, 0, 8<<10)
		for b.Loop() {
			buf = deliver.AppendBody(buf[:0], e, post)
		}
		b.SetBytes(int64(len(buf)))
	})
	b.Run("encoding-json", func(b *testing.B) {
		type plain fetcher.Tweet // without its MarshalJSON
		v := struct {
			Event          string    `json:"event"`
			MonitorID      string    `json:"monitor_id"`
			MonitorName    string    `json:"monitor_name"`
			TweetID        string    `json:"tweet_id"`
			AuthorUsername string    `json:"author_username"`
			TweetText      string    `json:"tweet_text"`
			TweetURL       string    `json:"tweet_url"`
			PublishedAt    time.Time `json:"tweet_published_at"`
			DetectedAt     time.Time `json:"detected_at"`
			LatencyMS      int64     `json:"latency_ms"`
			Data           plain     `json:"tweet_data"`
		}{
			"tweet.detected", e.Source.ID, e.Source.Name, e.TweetID, e.AuthorUsername, post.FullText, e.TweetURL,
			e.PublishedAt, e.DetectedAt, e.Latency.Milliseconds(), plain(*post),
		}
		v.Data.User = &fetcher.User{ID: post.UserID, Username: post.Username, Name: post.UserName}
		b.ReportAllocs()
		for b.Loop() {
			if _, err := json.Marshal(&v); err != nil {
				b.Fatal(err)
			}
		}
	})
}
