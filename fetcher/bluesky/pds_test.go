package bluesky

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/fetcher"
)

func TestPDSRequests(t *testing.T) {
	r := &repo{records: map[string][]string{}}
	for i := range 5 {
		r.add(postCollection, tidAt(postedAt.Add(-time.Duration(i)*time.Minute)))
	}
	p := serve(t, answers{
		"com.atproto.repo.listRecords":       r.listRecords,
		"com.atproto.identity.resolveHandle": body(doc(`{"did":"ALICE"}`)),
	})
	f := p.open(t, true)
	q := fetcher.TimelineQuery{Username: "alice.example.com", Limit: 2}
	page, err := f.Timeline(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	if got := methods(p.taken()); !slices.Equal(got, []string{"resolveHandle", "listRecords", "listRecords"}) {
		t.Errorf("first page: calls %v", got)
	}
	if page.UserID != alice || !page.RateLimit.Known || !page.ServerTime.Equal(now) {
		t.Errorf("page of %q, rate limit %+v, server time %s", page.UserID, page.RateLimit, page.ServerTime)
	}
	q.Cursor = page.Next
	if _, err = f.Timeline(t.Context(), q); err != nil {
		t.Fatal(err)
	}
	if got := methods(p.taken()); !slices.Equal(got, []string{"listRecords"}) {
		t.Errorf("second page: calls %v, want the collection with more only", got)
	}
	q.Cursor = "2025"
	if _, err = f.Timeline(t.Context(), q); err == nil {
		t.Error("a cursor from elsewhere: want an error")
	}
}

func TestPDSThatIgnoresTheCursorIsReadOnce(t *testing.T) {
	p := serve(t, answers{"com.atproto.repo.listRecords": body(doc(`{"records":[{"uri":"POST"}],"cursor":"same"}`))})
	f := p.open(t, true)
	q := fetcher.TimelineQuery{Username: alice}
	for want := range 2 {
		page, err := f.Timeline(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		if (page.Next == "") != (want == 1) {
			t.Errorf("page %d: next %q", want, page.Next)
		}
		q.Cursor = page.Next
	}
}

func TestBrokenRecordsStandWithTheOneBefore(t *testing.T) {
	var p part
	if err := p.decode([]byte(doc(`{"records":[7,{"uri":"POST"},null,{"uri":"ORIGINAL"}],"cursor":"c"}`))); err != nil {
		t.Fatal(err)
	}
	var keys []string
	for _, r := range p.records {
		keys = append(keys, r.key)
	}
	k, older := tidAt(postedAt), tidAt(postedAt.Add(-time.Hour))
	if want := []string{topKey, k, k, older}; !slices.Equal(keys, want) {
		t.Errorf("keys %q, want %q", keys, want)
	}
}

func TestRecordsOfTheLastOfSeveralLists(t *testing.T) {
	var p part
	if err := p.decode([]byte(doc(`{"records":[{"uri":"ORIGINAL"},7],"cursor":"a","records":[{"uri":"POST"}],"cursor":"b"}`))); err != nil {
		t.Fatal(err)
	}
	if len(p.records) != 1 || p.records[0].uri != postURI(alice, postedAt) || p.next != "b" {
		t.Errorf("%d records, next %q, want the last list and cursor", len(p.records), p.next)
	}
}

func TestKeysAreJudgedByTheServersClock(t *testing.T) {
	for _, c := range []struct {
		name      string
		here      time.Time
		date      bool // the answer tells its time
		published time.Time
	}{
		{"a clock here that is late", now.AddDate(-1, 0, 0), true, postedAt},
		{"no clock but a late one here", now.AddDate(-1, 0, 0), false, firstPosts},
		{"no clock but a good one here", now, false, postedAt},
	} {
		t.Run(c.name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header()["Date"] = nil
				if c.date {
					w.Header().Set("Date", now.Format(http.TimeFormat))
				}
				fmt.Fprintf(w, `{"records":[{"uri":%q,"value":{"createdAt":%q}}]}`, postURI(alice, postedAt), stampOf(firstPosts))
			}))
			defer server.Close()
			f, err := New(Config{PDS: server.URL, Now: func() time.Time { return c.here }})
			if err != nil {
				t.Fatal(err)
			}
			page, err := f.Timeline(t.Context(), fetcher.TimelineQuery{Username: alice})
			if err != nil {
				t.Fatal(err)
			}
			if got := page.Tweets[0].PublishedAt; !got.Equal(c.published) {
				t.Errorf("published at %s, want %s", got, c.published)
			}
		})
	}
}

// records answers listRecords with the given posts and one repost.
func records(posts string) func(url.Values) (int, string) {
	return func(q url.Values) (int, string) {
		if q.Get("collection") == repostCollection {
			return 200, doc(`{"records":[{"uri":"REPOST","value":{"subject":{"uri":"ORIGINAL"},"createdAt":"AT"}}]}`)
		}
		return 200, doc(`{"records":[` + posts + `]}`)
	}
}

func TestPDSMapping(t *testing.T) {
	p := serve(t, answers{"com.atproto.repo.listRecords": records(`{"uri":"POST","cid":"x","value":{"text":"see it","langs":["en"],"createdAt":"AT",
		"facets":[{"index":{"byteStart":4,"byteEnd":6},"features":[{"$type":"app.bsky.richtext.facet#link","uri":"https://example.com/"}]}],
		"labels":{"values":[{"val":"sexual"}]},
		"embed":{"$type":"app.bsky.embed.recordWithMedia","record":{"record":{"uri":"ORIGINAL"}},
			"media":{"$type":"app.bsky.embed.images","images":[{"alt":"a cat","image":{"$type":"blob","ref":{"$link":"bafkpic"}},"aspectRatio":{"width":3,"height":4}}]}}}}`)})
	page, err := p.open(t, true).Timeline(t.Context(), fetcher.TimelineQuery{Username: "alice.example.com", UserID: alice})
	if err != nil {
		t.Fatal(err)
	}
	if len(page.Tweets) != 2 {
		t.Fatalf("%d posts, want 2", len(page.Tweets))
	}
	tw, rt := page.Tweets[0], page.Tweets[1]
	blob := p.URL + "/xrpc/com.atproto.sync.getBlob?did=" + url.QueryEscape(alice) + "&cid=bafkpic"
	for _, c := range []struct {
		name      string
		got, want any
	}{
		{"id", tw.ID, postURI(alice, postedAt)},
		{"time", tw.PublishedAt, postedAt},
		{"text", tw.Text, "see it"},
		{"author id", tw.UserID, alice},
		{"author handle as asked for", tw.Username, "alice.example.com"},
		{"no author record", tw.User == nil, true},
		{"language", tw.Lang, "en"},
		{"link", tw.URLs[0].URL, "https://example.com/"},
		{"quote", tw.QuotedStatusID, postURI(bob, postedAt.Add(-time.Hour))},
		{"author's label", tw.PossiblySensitive, true},
		{"picture", tw.Media[0], fetcher.Media{MediaKey: "bafkpic", Type: "photo", URL: blob, Width: 3, Height: 4, AltText: "a cat"}},
		{"page", tw.Permalink, "https://bsky.app/profile/alice.example.com/post/" + tidAt(postedAt)},

		{"repost id", rt.ID, repostURI(alice, postedAt)},
		{"repost time", rt.PublishedAt, postedAt},
		{"repost mark", rt.IsRetweet, true},
		{"what is reposted", rt.RetweetedStatusID, postURI(bob, postedAt.Add(-time.Hour))},
		{"repost text", rt.Text, "RT @" + bob + ": " + postURI(bob, postedAt.Add(-time.Hour))},
		{"reposter", rt.UserID, alice},
		{"page of the original", rt.Permalink, "https://bsky.app/profile/" + bob + "/post/" + tidAt(postedAt.Add(-time.Hour))},
	} {
		if c.got != c.want {
			t.Errorf("%s: %v, want %v", c.name, c.got, c.want)
		}
	}
}

func TestPDSVideoAndCard(t *testing.T) {
	for _, c := range []struct{ name, embed, field, want string }{
		{"a video", `{"$type":"app.bsky.embed.video","video":{"ref":{"$link":"bafkvid"}},"alt":"a dog"}`, "media",
			`[{"media_key":"bafkvid","type":"video","url":"https://pds.example/bafkvid","preview_image_url":"","width":0,"height":0,"duration_ms":0,"view_count":0,"alt_text":"a dog"}]`},
		{"a card's picture", `{"external":{"uri":"https://example.com/","title":"A","thumb":{"$type":"blob","ref":{"$link":"bafkpic"}}}}`, "thumbnail_url", `"https://pds.example/bafkpic"`},
		{"a card's picture that is no address", `{"external":{"uri":"https://example.com/","thumb":"javascript:alert(1)"}}`, "thumbnail_url", `""`},
		{"a picture in the form before 2023", `{"images":[{"image":{"cid":"bafkold","mimeType":"image/png"}}]}`, "media",
			`[{"media_key":"bafkold","type":"photo","url":"https://pds.example/bafkold","preview_image_url":"","width":0,"height":0,"duration_ms":0,"view_count":0,"alt_text":""}]`},
	} {
		t.Run(c.name, func(t *testing.T) {
			u, _ := parseURI(postURI(alice, postedAt))
			l := listedRecord{raw: []byte(`{"value":{"embed":` + c.embed + `}}`)}
			if got := wireField(t, l.tweet(u, account{did: alice}, "https://pds.example/"), c.field); got != c.want {
				t.Errorf("%s = %s, want %s", c.field, got, c.want)
			}
		})
	}
}

func TestPDSRepostOfWhatIsNoPostHasNoPage(t *testing.T) {
	u, _ := parseURI(repostURI(alice, postedAt))
	l := listedRecord{raw: []byte(doc(`{"value":{"subject":{"uri":"at://BOB/app.bsky.feed.generator/x"}}}`))}
	if got := l.tweet(u, account{did: alice}, "").Permalink; got != "" {
		t.Errorf("permalink %q, want none", got)
	}
}

func TestPDSRecordsOutOfOrderAndBroken(t *testing.T) {
	ahead := postURI(alice, now.Add(24*time.Hour))
	p := serve(t, answers{"com.atproto.repo.listRecords": func(q url.Values) (int, string) {
		if q.Get("collection") == repostCollection {
			return 200, `{"records":[]}`
		}
		return 200, doc(`{"records":[{"uri":"` + ahead + `","value":{"text":"later","createdAt":"2024-01-01T00:00:00Z"}},7,{"uri":"POST","value":{"text":"hi"}}]}`)
	}})
	f := p.open(t, true)
	for _, known := range []bool{false, true} {
		page, err := f.Timeline(t.Context(), fetcher.TimelineQuery{Username: alice, Seen: func(string) bool { return known }})
		if err != nil {
			t.Fatal(err)
		}
		if !page.OldestAt.Equal(postedAt) {
			t.Errorf("reaches back to %s, want %s: a key ahead stands out of order", page.OldestAt, postedAt)
		}
		if known {
			if page.Skipped != 2 || len(page.Tweets) != 1 {
				t.Errorf("%d skipped, %d left, want 2 and the broken one", page.Skipped, len(page.Tweets))
			}
			continue
		}
		if len(page.Tweets) != 3 || !page.Tweets[0].Pinned || page.Tweets[1].ID != "" || page.Tweets[2].Text != "hi" || page.Tweets[2].Pinned {
			t.Fatalf("posts %+v", page.Tweets)
		}
		if want := time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC); !page.Tweets[0].PublishedAt.Equal(want) {
			t.Errorf("a key ahead: published at %s, want createdAt %s", page.Tweets[0].PublishedAt, want)
		}
	}
}

func FuzzDecodeRecords(f *testing.F) {
	for _, s := range []string{
		`{"records":[{"uri":"POST","value":{"text":"né","embed":{"video":{"ref":{"$link":"x"}}}}},{"uri":"ORIGINAL"},3],"cursor":"c"}`,
		`{"records":[{"uri":"REPOST","value":{"subject":{"uri":"ORIGINAL"}}}]}`, `{"records":[7]}`, `{}`,
	} {
		f.Add([]byte(doc(s)), []byte(doc(`{"records":[{"uri":"REPOST"}],"cursor":"d"}`)), "", "")
	}
	pds := &Fetcher{pds: "https://pds.example"}
	f.Fuzz(func(t *testing.T, posts, reposts []byte, cursor, below string) {
		var parts [2]part
		parts[0].at = position{cursor: cursor, below: below}
		if parts[0].decode(posts) != nil || parts[1].decode(reposts) != nil {
			return
		}
		listed, next := merge(parts)
		if !slices.IsSortedFunc(listed, func(a, b listedRecord) int { return byKey(b, a) }) {
			t.Error("the page is not newest first")
		}
		if next == [2]position{parts[0].at, parts[1].at} {
			t.Errorf("the page leads to itself: %+v", next)
		}
		var page fetcher.Page
		pds.fillPage(&page, listed, account{did: alice, name: "alice.example.com"}, now, nil)
		for _, tw := range page.Tweets {
			checkSound(t, tw)
		}
	})
}
