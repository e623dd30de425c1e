package xapi

// Documents in the shapes of the public documentation of the API (docs.x.com, and its
// OpenAPI document 2.166 and 2.168). Names and contents are made up.

// pageTweet is a page of a timeline by the names of before August 2026, with everything
// that can be asked for: a post with all fields, a repost of a long post, a quote, and a
// reply.
const pageTweet = `{
  "data": [
    {"id": "1346889436626259968", "text": "Learn how to use the user Tweet timeline #X @XDevelopers https://t.co/abc", "author_id": "2244994945",
     "created_at": "2021-01-06T18:40:40.000Z", "lang": "en", "source": "X Web App", "conversation_id": "1346889436626259968",
     "edit_history_tweet_ids": ["1346889436626259960", "1346889436626259968"], "possibly_sensitive": true, "card_uri": "card://12",
     "edit_controls": {"edits_remaining": 4, "is_edit_eligible": true, "editable_until": "2021-01-06T19:40:40.000Z"},
     "note_tweet": {"text": "Learn how to use the user Tweet timeline, which is long #X #API @XDevelopers https://t.co/abc",
       "entities": {"hashtags": [{"start": 58, "end": 60, "tag": "X"}, {"start": 61, "end": 65, "tag": "API"}]}},
     "entities": {"hashtags": [{"start": 41, "end": 43, "tag": "X"}], "mentions": [{"start": 44, "end": 56, "username": "XDevelopers", "id": "2244994945"}],
       "urls": [{"start": 57, "end": 73, "url": "https://t.co/abc", "expanded_url": "https://x.com/docs", "display_url": "x.com/docs", "unwound_url": "https://docs.x.com", "status": 200, "title": "Docs"}],
       "annotations": [{"start": 1, "end": 2, "probability": 0.9, "type": "Place", "normalized_text": "X"}]},
     "attachments": {"media_keys": ["3_1", "7_2"], "poll_ids": ["9"]}, "geo": {"place_id": "01a9a39529b27f36"},
     "public_metrics": {"retweet_count": 12, "reply_count": 4, "like_count": 49, "quote_count": 7, "impression_count": 1000, "bookmark_count": 2},
     "context_annotations": [{"domain": {"id": "46"}, "entity": {"id": "781974596752842752"}}]},
    {"id": "1346889436626259970", "text": "RT @bob: the beginning of a long post which is cut at one hundred and fo…", "author_id": "2244994945", "created_at": "2021-01-06T18:41:40Z",
     "referenced_tweets": [{"type": "retweeted", "id": "1212092628029698048"}]},
    {"id": "1346889436626259980", "text": "look at this", "author_id": "2244994945", "created_at": "2021-01-06T18:42:40.000Z", "referenced_tweets": [{"type": "quoted", "id": "1212092628029698048"}]},
    {"id": "1346889436626259990", "text": "@bob yes", "author_id": "2244994945", "in_reply_to_user_id": "12", "conversation_id": "1212092628029698048", "referenced_tweets": [{"type": "replied_to", "id": "1212092628029698048"}]}
  ],
  "includes": {
    "tweets": [{"id": "1212092628029698048", "text": "the beginning of a long post which is cut", "author_id": "12", "note_tweet": {"text": "the beginning of a long post which is cut, and its end #whole", "entities": {"hashtags": [{"start": 54, "end": 60, "tag": "whole"}]}},
      "attachments": {"media_keys": ["3_1"]}}],
    "users": [
      {"id": "2244994945", "username": "XDevelopers", "name": "X Developers", "created_at": "2013-12-14T04:35:55.000Z", "description": "news", "location": "here", "url": "https://t.co/x",
       "profile_image_url": "https://pbs.example/a.jpg", "protected": false, "verified": true, "verified_type": "business", "pinned_tweet_id": "1255542774432063488",
       "public_metrics": {"followers_count": 513961, "following_count": 2018, "tweet_count": 3961, "listed_count": 1672, "like_count": 5, "media_count": 6}},
      {"id": "12", "username": "bob", "name": "Bob"}],
    "media": [{"media_key": "3_1", "type": "photo", "url": "https://pbs.example/1.jpg", "width": 640, "height": 480, "alt_text": "a chart"},
      {"media_key": "7_2", "type": "video", "preview_image_url": "https://pbs.example/2.jpg", "duration_ms": 46947, "height": 1080, "width": 1920, "public_metrics": {"view_count": 6865141},
       "variants": [{"content_type": "application/x-mpegURL", "url": "https://video.example/2.m3u8"}, {"bit_rate": 832000, "content_type": "video/mp4", "url": "https://video.example/low.mp4"}, {"bit_rate": 2176000, "content_type": "video/mp4", "url": "https://video.example/high.mp4"}]}],
    "polls": [{"id": "9", "voting_status": "closed", "duration_minutes": 1440, "end_datetime": "2021-01-07T18:40:40.000Z", "options": [{"position": 1, "label": "yes", "votes": 15}, {"position": 2, "label": "no", "votes": 2}]}],
    "places": [{"id": "01a9a39529b27f36", "full_name": "Manhattan, NY", "name": "Manhattan", "country": "United States", "country_code": "US", "place_type": "city", "geo": {"type": "Feature", "bbox": [-74.0, 40.6, -73.9, 40.8]}}]
  },
  "errors": [{"type": "https://api.twitter.com/2/problems/resource-not-found", "title": "Not Found Error", "detail": "Could not find tweet with referenced_tweets.id: [1].", "resource_type": "tweet", "resource_id": "1", "parameter": "referenced_tweets.id", "value": "1"}],
  "meta": {"result_count": 4, "newest_id": "1346889436626259990", "oldest_id": "1346889436626259968", "next_token": "7140dibdnow9c7btw421dyz6jism75z99gyxd8egarsc4"}
}`

// pagePost is the same page by the names of since August 2026.
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
       "profile_image_url": "https://pbs.example/a.jpg", "protected": false, "verified": true, "verified_type": "business", "pinned_post_id": "1255542774432063488",
       "public_metrics": {"followers_count": 513961, "following_count": 2018, "post_count": 3961, "listed_count": 1672, "like_count": 5, "media_count": 6}},
      {"data": {"id": "12", "username": "bob", "name": "Bob"}}],
    "media": [{"media_key": "3_1", "type": "photo", "url": "https://pbs.example/1.jpg", "width": 640, "height": 480, "alt_text": "a chart"},
      {"media_key": "7_2", "type": "video", "preview_image_url": "https://pbs.example/2.jpg", "duration_ms": 46947, "height": 1080, "width": 1920, "public_metrics": {"view_count": 6865141},
       "variants": [{"content_type": "application/x-mpegURL", "url": "https://video.example/2.m3u8"}, {"bit_rate": 832000, "content_type": "video/mp4", "url": "https://video.example/low.mp4"}, {"bit_rate": 2176000, "content_type": "video/mp4", "url": "https://video.example/high.mp4"}]}],
    "polls": [{"id": "9", "voting_status": "closed", "duration_minutes": 1440, "end_datetime": "2021-01-07T18:40:40.000Z", "options": [{"position": 1, "label": "yes", "votes": 15}, {"position": 2, "label": "no", "votes": 2}]}],
    "places": [{"id": "01a9a39529b27f36", "full_name": "Manhattan, NY", "name": "Manhattan", "country": "United States", "country_code": "US"}]
  },
  "meta": {"result_count": 4, "newest_id": "1346889436626259990", "oldest_id": "1346889436626259968", "next_token": "7140dibdnow9c7btw421dyz6jism75z99gyxd8egarsc4"}
}`

// pageOdd has a value of another type wherever one can stand, numbers as strings and the
// other way round, and elements that are no posts.
const pageOdd = `{
  "data": [
    {"id": 1346889436626259968, "text": "still here", "author_id": 2244994945, "created_at": 7, "lang": [], "note_post": "x", "note_tweet": null, "referenced_posts": {"type": "quoted"},
     "referenced_tweets": [null, 7, {"type": 1, "id": {}}], "edit_history_post_ids": "none", "edit_controls": [], "entities": {"urls": "u", "hashtags": [1, {"tag": 2, "start": "a", "end": -1}], "mentions": {}},
     "attachments": {"media_keys": {"0": "3_1"}, "poll_ids": [null, 9]}, "geo": "here", "public_metrics": {"like_count": "49", "reply_count": -3, "quote_count": 1e300, "retweet_count": null, "impression_count": true}, "possibly_sensitive": "yes"},
    17, null, "post", [], {"text": "no id"}
  ],
  "includes": {"users": [null, {"id": 2244994945, "username": "ann", "public_metrics": []}], "posts": "none", "media": [[]], "polls": [{"id": 9, "options": "none"}], "places": 1},
  "errors": "none",
  "meta": {"result_count": "6", "next_token": null}
}`
