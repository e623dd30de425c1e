package main

import (
	"strconv"
	"strings"
)

// author is the account of a post, as a Mastodon 4.5 server has it.
const author = `{"id":"@ID@","username":"@NAME@","acct":"@NAME@","display_name":"Ann on ice 🧊","locked":false,"bot":false,"discoverable":true,"indexable":true,"group":false,` +
	`"created_at":"2022-11-07T00:00:00.000Z","note":"\u003cp\u003eGlaciologist, sledge dog person. Posts in English and German.\u003c/p\u003e","url":"https://social.example/@NAME@","uri":"https://social.example/users/@NAME@",` +
	`"avatar":"https://files.social.example/accounts/avatars/109/302/436/954/721/982/original/3a0e7b0c8b1f4d52.jpg","avatar_static":"https://files.social.example/accounts/avatars/109/302/436/954/721/982/original/3a0e7b0c8b1f4d52.jpg",` +
	`"header":"https://files.social.example/accounts/headers/109/302/436/954/721/982/original/91c7ad2d3f0b6e88.jpg","header_static":"https://files.social.example/accounts/headers/109/302/436/954/721/982/original/91c7ad2d3f0b6e88.jpg",` +
	`"followers_count":20481,"following_count":312,"statuses_count":4127,"last_status_at":"2026-11-21","hide_collections":false,"noindex":false,"emojis":[],"roles":[],` +
	`"fields":[{"name":"Blog","value":"\u003ca href=\"https://ice.example.org\" rel=\"me\"\u003eice.example.org\u003c/a\u003e","verified_at":"2024-02-03T10:11:12.000+00:00"}]}`

// status is a post, with marks for what differs: @POST@, @TIME@, @COUNT@ and those of
// the author.
const status = `{"id":"@POST@","created_at":"@TIME@","in_reply_to_id":null,"in_reply_to_account_id":null,"sensitive":false,"spoiler_text":"","visibility":"public","language":"en",` +
	`"uri":"https://social.example/users/@NAME@/statuses/@POST@","url":"https://social.example/@NAME@/@POST@","replies_count":@COUNT@,"reblogs_count":12,"favourites_count":@COUNT@,"quotes_count":0,"edited_at":null,` +
	`"content":"\u003cp\u003eDay 12 of the expedition — 12 km over the ice, −31 °C, light wind from the north-east. The \"shortcut\" was none, but the view from the ridge made up for it. More on the blog: ` +
	`\u003ca href=\"https://ice.example.org/day\" target=\"_blank\" rel=\"nofollow noopener\"\u003e\u003cspan class=\"invisible\"\u003ehttps://\u003c/span\u003e\u003cspan class=\"\"\u003eice.example.org/day\u003c/span\u003e\u003c/a\u003e \u003ca href=\"https://social.example/tags/ice\" class=\"mention hashtag\" rel=\"tag\"\u003e#\u003cspan\u003eice\u003c/span\u003e\u003c/a\u003e\u003c/p\u003e",` +
	`"filtered":[],"reblog":null,"application":{"name":"Web","website":null},"account":` + author + `,"media_attachments":[],"mentions":[],"tags":[{"name":"ice","url":"https://social.example/tags/ice"}],"emojis":[],` +
	`"quote":null,"quote_approval":{"automatic":["public"],"manual":[],"current_user":"automatic"},"card":null,"poll":null}`

// parts are status split at its marks, which are every second part.
var parts = strings.Split(status, "@")

// appendPage appends a list of posts of an account, with counts that say which answer
// it is.
func appendPage(b []byte, account int, posts []post, count int64) []byte {
	b = append(b, '[')
	for i, p := range posts {
		if i > 0 {
			b = append(b, ',')
		}
		for _, part := range parts {
			switch part {
			case "POST":
				b = strconv.AppendInt(b, p.id, 10)
			case "TIME":
				b = p.at.UTC().AppendFormat(b, "2006-01-02T15:04:05.000Z")
			case "COUNT":
				b = strconv.AppendInt(b, count, 10)
			case "ID":
				b = append(b, accountID(account)...)
			case "NAME":
				b = append(b, username(account)...)
			default:
				b = append(b, part...)
			}
		}
	}
	return append(b, ']')
}
