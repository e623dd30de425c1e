package xapi

// Documents in the shapes of the public documentation of the API (docs.x.com, and its
// OpenAPI document 2.166 and 2.168). Names and contents are made up.

// pagePost is a page of a timeline with everything that can be asked for: a post with
// all fields, a repost of a long post, a quote, and a reply.
const pagePost = `{
  "data": [
    {"id": "1346889436626259968", "text": "Learn how to use the user Tweet timeline #X @XDevelopers https://t.co/abc", "author_id": "2244994945",
     "created_at": "2021-01-06T18:40:40Z", "lang": "en", "source": "X Web App", "conversation_id": "1346889436626259968",
     "edit_history_post_ids": ["1346889436626259960", "1346889436626259968"], "possibly_sensitive": true, "card_uri": "card://12",
     "edit_controls": {"edits_remaining": 4, "is_edit_eligible": true, "editable_until": "2021-01-06T19:40:40Z"},
     "note_post": {"text": "Learn how to use the user Tweet timeline, which is long #X #API @XDevelopers https://t.co/abc",
       "entities": {"hashtags": [{"start": 58, "end": 60, "tag": "X"}, {"start": 61, "end": 65, "tag": "API"}]}},
     "entities": {"hashtags": [{"start": 41, "end": 43, "tag": "X"}], "mentions": [{"start": 44, "end": 56, "username": "XDevelopers", "id": "2244994945"}],
       "urls": [{"start": 57, "end": 73, "url": "https://t.co/abc", "expanded_url": "https://x.com/docs", "display_url": "x.com/docs", "unwound_url": "https://docs.x.com"}]},
     "attachments": {"media_keys": ["3_1", "7_2"], "poll_ids": ["9"]}, "geo": {"place_id": "01a9a39529b27f36"},
     "public_metrics": {"repost_count": 12, "reply_count": 4, "like_count": 49, "quote_count": 7, "impression_count": 1000, "bookmark_count": 2}},
    {"id": "1346889436626259970", "text": "RT @bob: the beginning of a long post which is cut at one hundred and fo…", "author_id": "2244994945",
     "referenced_posts": [{"type": "retweeted", "id": "1212092628029698048"}]},
    {"id": "1346889436626259980", "text": "look at this", "author_id": "2244994945", "referenced_posts": [{"type": "quoted", "id": "1212092628029698048"}]},
    {"id": "1346889436626259990", "text": "@bob yes", "author_id": "2244994945", "in_reply_to_user_id": "12", "conversation_id": "1212092628029698048", "referenced_posts": [{"type": "replied_to", "id": "1212092628029698048"}]}
  ],
  "includes": {
    "posts": [{"id": "1212092628029698048", "text": "the beginning of a long post which is cut", "author_id": "12", "note_post": {"text": "the beginning of a long post which is cut, and its end #whole", "entities": {"hashtags": [{"start": 54, "end": 60, "tag": "whole"}]}},
      "attachments": {"media_keys": ["3_1"]}}],
    "users": [
      {"id": "2244994945", "username": "XDevelopers", "name": "X Developers", "created_at": "2013-12-14T04:35:55Z", "description": "news", "location": "here", "url": "https://t.co/x",
       "profile_image_url": "https://pbs.example/a.jpg", "protected": false, "verified": true, "verified_type": "business",
       "public_metrics": {"followers_count": 513961, "following_count": 2018, "post_count": 3961, "listed_count": 1672, "like_count": 5, "media_count": 6}},
      {"id": "12", "username": "bob", "name": "Bob"}],
    "media": [{"media_key": "3_1", "type": "photo", "url": "https://pbs.example/1.jpg", "width": 640, "height": 480, "alt_text": "a chart"},
      {"media_key": "7_2", "type": "video", "preview_image_url": "https://pbs.example/2.jpg", "duration_ms": 46947, "height": 1080, "width": 1920, "public_metrics": {"view_count": 6865141},
       "variants": [{"content_type": "application/x-mpegURL", "url": "https://video.example/2.m3u8"}, {"bit_rate": 832000, "content_type": "video/mp4", "url": "https://video.example/low.mp4"}, {"bit_rate": 2176000, "content_type": "video/mp4", "url": "https://video.example/high.mp4"}]}],
    "polls": [{"id": "9", "voting_status": "closed", "duration_minutes": 1440, "end_datetime": "2021-01-07T18:40:40.000Z", "options": [{"position": 1, "label": "yes", "votes": 15}, {"position": 2, "label": "no", "votes": 2}]}],
    "places": [{"id": "01a9a39529b27f36", "full_name": "Manhattan, NY", "name": "Manhattan", "country": "United States", "country_code": "US"}]
  },
  "meta": {"result_count": 4, "newest_id": "1346889436626259990", "oldest_id": "1346889436626259968", "next_token": "7140dibdnow9c7btw421dyz6jism75z99gyxd8egarsc4"}
}`

// pageOdd has values of another type than they should have, and elements that are no
// posts.
const pageOdd = `{
  "data": [
    {"id": "1346889436626259968", "text": "still here", "created_at": 7, "lang": [], "note_post": "x", "referenced_posts": {"type": "quoted"}, "edit_history_post_ids": "none",
     "entities": {"urls": "u", "hashtags": [1, {"tag": 2, "start": "a"}], "mentions": {}}, "attachments": {"media_keys": {"0": "3_1"}}, "geo": "here",
     "public_metrics": {"like_count": 49, "quote_count": "many", "repost_count": null}, "possibly_sensitive": "yes"},
    17, null, "post", [], {"text": "no id"}
  ],
  "includes": {"users": [null, {"id": "2244994945", "username": "ann", "public_metrics": []}], "posts": "none", "media": [[]], "places": 1},
  "errors": "none",
  "meta": {"result_count": "6", "next_token": null}
}`
