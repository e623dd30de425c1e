package main

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/streamwatch/streamwatch/fetcher"
)

// pagePosts is how many posts are on a page.
const pagePosts = 20

const (
	did    = "did:plc:z72i7hdynmk6r22z27h6tvur"
	handle = "alice.example.com"
)

// lead is what a post says.
const lead = "Day %d of the expedition — 12 km over the ice, −31 °C, light wind from the north-east. " +
	"The \\\"shortcut\\\" was none, but the view from the ridge made up for it. More on the blog: "

// postedAt is when post n was made, counted from the oldest.
func postedAt(n int) time.Time {
	return answeredAt.Add(-time.Duration(pagePosts-n)*3*time.Hour - 417*time.Millisecond)
}

func stamp(t time.Time) string { return t.Format("2006-01-02T15:04:05.000Z") }

// page puts posts together, newest first.
func page(before, after string, post func(n int) (id, doc string)) (body []byte, ids []string) {
	var docs []string
	for n := pagePosts; n > 0; n-- {
		id, doc := post(n)
		ids, docs = append(ids, id), append(docs, doc)
	}
	return []byte(before + strings.Join(docs, ",") + after), ids
}

// mastodonPage is a list of Status entities as a Mastodon 4.5 server sends it,
// with all members and without white space.
func mastodonPage() ([]byte, []string) {
	const author = `{"id":"109302436954721982","username":"ann","acct":"ann","display_name":"Ann on ice 🧊","locked":false,"bot":false,"discoverable":true,"indexable":true,"group":false,` +
		`"created_at":"2022-11-07T00:00:00.000Z","note":"\u003cp\u003eGlaciologist, sledge dog person. Posts in English and German.\u003c/p\u003e","url":"https://social.example/@ann","uri":"https://social.example/users/ann",` +
		`"avatar":"https://files.social.example/accounts/avatars/109/302/436/954/721/982/original/3a0e7b0c8b1f4d52.jpg","avatar_static":"https://files.social.example/accounts/avatars/109/302/436/954/721/982/original/3a0e7b0c8b1f4d52.jpg",` +
		`"header":"https://files.social.example/accounts/headers/109/302/436/954/721/982/original/91c7ad2d3f0b6e88.jpg","header_static":"https://files.social.example/accounts/headers/109/302/436/954/721/982/original/91c7ad2d3f0b6e88.jpg",` +
		`"followers_count":20481,"following_count":312,"statuses_count":4127,"last_status_at":"2026-11-21","hide_collections":false,"noindex":false,"emojis":[],"roles":[],` +
		`"fields":[{"name":"Blog","value":"\u003ca href=\"https://ice.example.org\" rel=\"me\"\u003eice.example.org\u003c/a\u003e","verified_at":"2024-02-03T10:11:12.000+00:00"}]}`
	return page("[", "]", func(n int) (string, string) {
		id := fmt.Sprintf("1155870%011d", n*7_919_317)
		media := "[]"
		if n%4 == 0 {
			media = `[{"id":"115586999` + id[:9] + `","type":"image","url":"https://files.social.example/media_attachments/files/115/586/999/original/7c1d.jpg","preview_url":"https://files.social.example/media_attachments/files/115/586/999/small/7c1d.jpg",` +
				`"remote_url":null,"preview_remote_url":null,"text_url":null,"meta":{"original":{"width":1920,"height":1440,"size":"1920x1440","aspect":1.3333333333333333},"small":{"width":554,"height":416,"size":"554x416","aspect":1.3317307692307692}},` +
				`"description":"A ridge of blue ice under a low sun.","blurhash":"UFBWY:8_0Jxv4mx]t8t64.%M-:IUWGWAt6M}"}]`
		}
		text := fmt.Sprintf(lead, n)
		return id, `{"id":"` + id + `","created_at":"` + stamp(postedAt(n)) + `","in_reply_to_id":null,"in_reply_to_account_id":null,"sensitive":false,"spoiler_text":"","visibility":"public","language":"en",` +
			`"uri":"https://social.example/users/ann/statuses/` + id + `","url":"https://social.example/@ann/` + id + `","replies_count":` + fmt.Sprint(n) + `,"reblogs_count":` + fmt.Sprint(3*n) + `,"favourites_count":` + fmt.Sprint(17*n) + `,"quotes_count":0,"edited_at":null,` +
			`"content":"\u003cp\u003e` + text + `\u003ca href=\"https://ice.example.org/day\" target=\"_blank\" rel=\"nofollow noopener\"\u003e\u003cspan class=\"invisible\"\u003ehttps://\u003c/span\u003e\u003cspan class=\"\"\u003eice.example.org/day\u003c/span\u003e\u003c/a\u003e \u003ca href=\"https://social.example/tags/ice\" class=\"mention hashtag\" rel=\"tag\"\u003e#\u003cspan\u003eice\u003c/span\u003e\u003c/a\u003e\u003c/p\u003e",` +
			`"filtered":[],"reblog":null,"application":{"name":"Web","website":null},"account":` + author + `,"media_attachments":` + media + `,"mentions":[],"tags":[{"name":"ice","url":"https://social.example/tags/ice"}],"emojis":[],` +
			`"quote":null,"quote_approval":{"automatic":["public"],"manual":[],"current_user":"automatic"},"card":null,"poll":null}`
	})
}

// tid is the record key of a moment, by atproto.com/specs/tid.
func tid(t time.Time) string {
	const digits = "234567abcdefghijklmnopqrstuvwxyz"
	v := uint64(t.UnixMicro()) << 10
	var key [13]byte
	for i := range key {
		key[12-i] = digits[v&31]
		v >>= 5
	}
	return string(key[:])
}

// bskyRecord is an app.bsky.feed.post of a thread, with a link, a tag and a
// picture.
func bskyRecord(n int) string {
	text := fmt.Sprintf(lead, n)
	bytes := len(text) - 2 // less the two backslashes
	return `{"$type":"app.bsky.feed.post","createdAt":"` + stamp(postedAt(n)) + `","embed":{"$type":"app.bsky.embed.images","images":[{"alt":"A ridge of blue ice under a low sun.","aspectRatio":{"height":1500,"width":2000},` +
		`"image":{"$type":"blob","ref":{"$link":"` + pictureCID(n) + `"},"mimeType":"image/jpeg","size":912441}}]},` +
		`"facets":[{"features":[{"$type":"app.bsky.richtext.facet#link","uri":"https://ice.example.org/day"}],"index":{"byteEnd":` + fmt.Sprint(bytes+19) + `,"byteStart":` + fmt.Sprint(bytes) + `}},` +
		`{"features":[{"$type":"app.bsky.richtext.facet#tag","tag":"ice"}],"index":{"byteEnd":` + fmt.Sprint(bytes+24) + `,"byteStart":` + fmt.Sprint(bytes+20) + `}}],"langs":["en"],"reply":{"parent":` + ref(n-1) + `,"root":` + ref(0) + `},"text":"` + text + `ice.example.org/day #ice"}`
}

// pictureCID is the content id of post n's picture.
func pictureCID(n int) string {
	return "bafkreibnbqxhkw5ohtiulqxwivkxd4qxqmjysqyf5blzqx" + tid(postedAt(n))[1:]
}

// ref is a com.atproto.repo.strongRef to post n.
func ref(n int) string {
	return `{"cid":"bafyreib2rxk3rybk3aobmv5cjuql3bm2twh4jo5uxgf5kpqcsgz7soitae","uri":"at://` + did + `/app.bsky.feed.post/` + tid(postedAt(n)) + `"}`
}

// feedPage is an answer of app.bsky.feed.getAuthorFeed.
func feedPage() ([]byte, []string) {
	const cdn = "https://cdn.bsky.app/img/"
	const author = `{"did":"` + did + `","handle":"` + handle + `","displayName":"Alice on ice 🧊","avatar":"` + cdn + `avatar/plain/` + did + `/bafkreihwihm6kpd6zuwhhlro75p5qks5qtrcu55jp3gddbfjsieiv7wuka@jpeg",` +
		`"associated":{"chat":{"allowIncoming":"following"},"activitySubscription":{"allowSubscriptions":"followers"}},"labels":[],"createdAt":"2023-04-12T04:53:57.057Z","verification":{"verifications":[],"verifiedStatus":"none","trustedVerifierStatus":"none"}}`
	picture := func(n int) string {
		return `{"$type":"app.bsky.embed.images#view","images":[{"thumb":"` + cdn + `feed_thumbnail/plain/` + did + `/` + pictureCID(n) + `@jpeg","fullsize":"` + cdn + `feed_fullsize/plain/` + did + `/` + pictureCID(n) + `@jpeg","alt":"A ridge of blue ice under a low sun.","aspectRatio":{"height":1500,"width":2000}}]}`
	}
	return page(`{"feed":[`, `],"cursor":"`+stamp(postedAt(1))+`"}`, func(n int) (string, string) {
		id := "at://" + did + "/app.bsky.feed.post/" + tid(postedAt(n))
		return id, `{"post":{"uri":"` + id + `","cid":"bafyreib2rxk3rybk3aobmv5cjuql3bm2twh4jo5uxgf5kpqcsgz7soitae","author":` + author + `,"record":` + bskyRecord(n) + `,"embed":` + picture(n) +
			`,"bookmarkCount":1,"replyCount":` + fmt.Sprint(n) + `,"repostCount":` + fmt.Sprint(3*n) + `,"likeCount":` + fmt.Sprint(17*n) + `,"quoteCount":0,"indexedAt":"` + stamp(postedAt(n).Add(time.Second)) + `","labels":[]}}`
	})
}

// recordPage is an answer of com.atproto.repo.listRecords. Records are bare,
// so 20 of them are less than half as long as with their views.
func recordPage() ([]byte, []string) {
	return page(`{"records":[`, `],"cursor":"`+tid(postedAt(1))+`"}`, func(n int) (string, string) {
		id := "at://" + did + "/app.bsky.feed.post/" + tid(postedAt(n))
		return id, `{"uri":"` + id + `","cid":"bafyreib2rxk3rybk3aobmv5cjuql3bm2twh4jo5uxgf5kpqcsgz7soitae","value":` + bskyRecord(n) + `}`
	})
}

// remotePage is a page of another streamwatch service.
func remotePage() ([]byte, []string) {
	return page(`{"data":[`, `],"next_cursor":"older"}`, func(n int) (string, string) {
		id := strconv.FormatUint(fetcher.SnowflakeAt(postedAt(n)), 10)
		text := fmt.Sprintf(lead, n)
		doc, err := json.Marshal(fetcher.Tweet{
			ID: id, Text: text, FullText: text, CreatedAt: fetcher.FormatTime(postedAt(n)), Lang: "en", UserID: "1", Username: "ann", UserName: "Ann on ice",
			FavoriteCount: 17 * int64(n), ReplyCount: int64(n), ConversationID: id, Hashtags: []fetcher.Hashtag{{Text: "ice"}},
			URLs: []fetcher.URL{{URL: "https://ice.example.org/day", ExpandedURL: "https://ice.example.org/day"}},
			User: &fetcher.User{ID: "1", Username: "ann", Name: "Ann on ice", FollowersCount: 20481},
		})
		if err != nil {
			panic(err)
		}
		return id, string(doc)
	})
}
