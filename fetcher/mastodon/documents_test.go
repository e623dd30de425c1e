package mastodon

// Documents in the shapes of the public documentation of the servers. Names
// and contents are made up.

// mastodonPost has every field Mastodon 4.5 sends that the adapter maps.
const mastodonPost = `{
  "id": "114000000000000003",
  "created_at": "2026-03-01T12:00:03.123Z",
  "in_reply_to_id": "113999999999999999", "in_reply_to_account_id": "77",
  "sensitive": true, "spoiler_text": "Food &c", "visibility": "public", "language": "en",
  "uri": "https://social.example/users/ann/statuses/114000000000000003",
  "url": "https://social.example/@ann/114000000000000003",
  "replies_count": 1, "reblogs_count": 2, "favourites_count": 3, "quotes_count": 4, "edited_at": null,
  "content": "<p><span class=\"h-card\" translate=\"no\"><a href=\"https://other.example/@Bob\" class=\"u-url mention\">@<span>Bob</span></a></span> eats <a href=\"https://social.example/tags/Cake\" class=\"mention hashtag\" rel=\"tag\">#<span>Cake</span></a><br />see</p><p><a href=\"https://www.example.com/a/long/path\" rel=\"nofollow noopener\"><span class=\"invisible\">https://www.</span><span class=\"ellipsis\">example.com/a/lo</span><span class=\"invisible\">ng/path</span></a></p>",
  "reblog": null,
  "application": {"name": "Web", "website": null},
  "account": {
    "id": "42", "username": "ann", "acct": "ann", "display_name": "Ann 🍰", "locked": false, "bot": false,
    "created_at": "2017-02-08T00:00:00.000Z", "note": "<p>Baker.</p><p>she/her</p>",
    "url": "https://social.example/@ann", "avatar": "https://files.example/a.png", "header": "https://files.example/h.png",
    "followers_count": 547, "following_count": 404, "statuses_count": 28468, "emojis": [], "fields": []
  },
  "media_attachments": [
    {"id": "1", "type": "image", "url": "https://files.example/1.jpg", "preview_url": "https://files.example/1s.jpg", "remote_url": null,
     "meta": {"original": {"width": 640, "height": 480, "size": "640x480", "aspect": 1.33}, "small": {"width": 461, "height": 346}, "focus": {"x": -0.2, "y": 0.5}},
     "description": "a cake", "blurhash": "UFB"},
    {"id": "2", "type": "gifv", "url": "https://files.example/2.mp4", "preview_url": "https://files.example/2.png",
     "meta": {"length": "0:00:01.11", "duration": 1.11, "original": {"width": 600, "height": 332, "frame_rate": "100/3", "duration": 1.11}}, "description": null},
    {"id": "3", "type": "video", "url": "https://files.example/3.mp4", "preview_url": "https://files.example/3.png",
     "meta": {"original": {"width": 1280, "height": 720, "frame_rate": "6159375/249269", "duration": 88.654}}, "description": null},
    {"id": "4", "type": "audio", "url": "https://files.example/4.mp3", "preview_url": null, "meta": {"original": {"duration": 402.860408}}, "description": null},
    {"id": "5", "type": "unknown", "url": null, "preview_url": null, "remote_url": "https://other.example/5.xyz", "meta": null, "description": null}
  ],
  "mentions": [{"id": "78", "username": "Bob", "url": "https://other.example/@Bob", "acct": "Bob@other.example"}],
  "tags": [{"name": "cake", "url": "https://social.example/tags/cake"}, {"name": "baking", "url": "https://social.example/tags/baking"}],
  "emojis": [],
  "quote": {"state": "accepted", "quoted_status": {"id": "113000000000000001", "content": "<p>x</p>"}},
  "quote_approval": {"automatic": ["public"], "manual": []},
  "card": {"url": "https://www.example.com/a/long/path", "title": "Cakes", "description": "", "type": "link", "image": "https://files.example/c.jpg", "width": 400, "height": 200},
  "poll": {"id": "9", "expires_at": "2026-03-02T12:00:03.123Z", "expired": false, "multiple": false, "votes_count": 6, "voters_count": null,
    "options": [{"title": "yes", "votes_count": 6}, {"title": "no", "votes_count": null}], "emojis": []}
}`

// mastodonBoost wraps a post of another server, with a content warning.
const mastodonBoost = `{
  "id": "114000000000000004", "created_at": "2026-03-01T12:00:04.500Z", "in_reply_to_id": null, "in_reply_to_account_id": null,
  "sensitive": false, "spoiler_text": "", "visibility": "public", "language": null,
  "uri": "https://social.example/users/ann/statuses/114000000000000004/activity",
  "url": "https://social.example/users/ann/statuses/114000000000000004/activity",
  "replies_count": 0, "reblogs_count": 0, "favourites_count": 0, "content": "<p>as boosted</p>",
  "account": {"id": "42", "username": "ann", "acct": "ann", "display_name": "Ann"},
  "media_attachments": [], "mentions": [], "tags": [], "emojis": [], "card": null, "poll": null,
  "reblog": {
    "id": "113900000000000000", "created_at": "2026-02-20T08:00:00.000Z", "in_reply_to_id": "113800000000000000", "in_reply_to_account_id": "80",
    "sensitive": true, "spoiler_text": "news", "language": "de", "uri": "https://other.example/notes/x", "url": "https://other.example/@bob/x",
    "replies_count": 5, "reblogs_count": 6, "favourites_count": 11, "content": "<p>eine <a href=\"https://other.example/tags/Meldung\" rel=\"tag\">#<span>Meldung</span></a></p>",
    "account": {"id": "78", "username": "bob", "acct": "bob@other.example", "display_name": "Bob"},
    "media_attachments": [{"id": "6", "type": "image", "url": "https://files.example/6.jpg"}],
    "mentions": [], "tags": [{"name": "meldung", "url": "https://social.example/tags/meldung"}], "card": null, "poll": null, "quote": {"state": "accepted", "quoted_status_id": "1"}
  }
}`

// gotosocialPost has ULID ids and the fields GoToSocial adds.
const gotosocialPost = `{
  "id": "01FBVD42CQ3ZEEVMW180SBX03B", "created_at": "2026-03-01T12:00:02.000Z", "edited_at": null,
  "in_reply_to_id": null, "in_reply_to_account_id": null, "sensitive": false, "spoiler_text": "", "visibility": "public", "local_only": false,
  "language": "en", "uri": "https://gts.example/users/dan/statuses/01FBVD42CQ3ZEEVMW180SBX03B", "url": "https://gts.example/@dan/statuses/01FBVD42CQ3ZEEVMW180SBX03B",
  "replies_count": 0, "reblogs_count": 0, "favourites_count": 0, "favourited": false, "reblogged": false, "muted": false, "bookmarked": false, "pinned": true,
  "content": "<p>Hello <em>there</em></p><ul><li>one</li></ul>", "content_type": "text/markdown", "reblog": null, "application": {"name": "superseriousbusiness"},
  "account": {"id": "01F8MH17FWEB39HZJ76B6VXSKF", "username": "dan", "acct": "dan", "display_name": "", "created_at": "2022-05-20T11:09:18.000Z",
    "note": "", "url": "https://gts.example/@dan", "avatar": "", "header": "", "followers_count": 2, "following_count": 2, "statuses_count": 8, "last_status_at": "2026-03-01", "enable_rss": true},
  "media_attachments": [], "mentions": [], "tags": [], "emojis": [], "card": null, "poll": null,
  "interaction_policy": {"can_favourite": {"always": ["public", "me"]}}
}`

// akkomaPost has a flake id, a numeric conversation and the quoted post inline.
const akkomaPost = `{
  "id": "AhqXBYbUEPP8HKcVwW", "created_at": "2026-03-01T12:00:01.000Z", "spoiler_text": "", "sensitive": false,
  "uri": "https://akkoma.example/objects/7a", "url": "https://akkoma.example/notice/AhqXBYbUEPP8HKcVwW",
  "content": "q", "account": {"id": "9hhpfcF6vDPkU4JmF6", "username": "eve", "acct": "eve", "display_name": "eve", "followers_count": -1},
  "quote_id": "AhqWZZ", "quote": {"id": "AhqWZZ", "content": "quoted", "state": null}, "media_attachments": [], "mentions": [], "tags": [],
  "pleroma": {"conversation_id": 1234567890123456789, "local": true, "content": {"text/plain": "q"}}
}`

// numericPost has numbers for ids, as some forks send, beyond a float's digits.
const numericPost = `{"id": 114000000000000005, "created_at": "2026-03-01T13:00:05.000+01:00", "content": "n",
  "account": {"id": 9007199254740993, "acct": "num"}, "in_reply_to_id": 114000000000000001, "in_reply_to_account_id": 9007199254740995}`

// nullPost has null wherever it can stand.
const nullPost = `{"id": "7", "created_at": "2026-03-01T12:00:07Z", "uri": null, "url": null, "account": null, "content": null, "spoiler_text": null,
  "language": null, "sensitive": null, "in_reply_to_id": null, "in_reply_to_account_id": null, "reblog": null, "quote": null, "quote_id": null,
  "pleroma": null, "media_attachments": null, "mentions": null, "tags": null, "card": null, "poll": null, "application": null,
  "replies_count": null, "reblogs_count": null, "favourites_count": null, "quotes_count": null, "favourited": null, "pinned": null}`

// oddPost has a value of another type in every optional field.
const oddPost = `{"id": "8", "created_at": "2026-03-01T12:00:08Z", "uri": 1, "url": [], "account": "ann", "content": "<p>still here</p>", "spoiler_text": {},
  "language": 7, "sensitive": "yes", "in_reply_to_id": {}, "in_reply_to_account_id": -1.5, "reblog": false, "quote": "none", "quote_id": [1],
  "pleroma": [], "media_attachments": [17, null, {"id": "m", "type": 4, "url": "https://files.example/m", "meta": []}, {"meta": {"original": {"width": "640", "height": 1e999}}}],
  "mentions": {"0": 1}, "tags": ["go", {"name": "ok"}], "card": [], "poll": [], "application": "Web",
  "replies_count": "3", "reblogs_count": -4, "favourites_count": 2.0, "pinned": 1}`
