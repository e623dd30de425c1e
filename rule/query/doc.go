// Package query is the query language of filter rules.
//
// Parse reads a query once; the Program it returns then says of any post
// whether it answers, without allocating:
//
//	p, warnings, err := query.Parse(`"moon landing" (from:nasa OR #artemis) -is:retweet`, query.Options{})
//	…
//	if p.Match(&tweet) { … }
//
// Explain says why; NeedsUpstream lists what a post's record cannot answer;
// Translate writes the query for another platform dialect; a Set asks many
// programs about a post at once; Backtest asks one about posts of the past.
//
// # The language
//
//	apple iphone            both words; white space is AND
//	apple OR iphone         either; OR is upper case and binds loosest
//	apple -iphone           the first without the second; - touches what it negates
//	(apple OR iphone) ipad  parentheses group
//	"happy birthday"        a phrase: these words in this order; \" is a quote in it
//	"happy birthday"~2      near each other, up to 2 words in between
//	"a * b"                 * is any one word
//	#tag @user $TAG         tags and mentions, exactly
//	from:nasa               name:value, without spaces; quote values with spaces
//
// Words are compared without case. Punctuation and symbols separate words, so
// "coca-cola" is a phrase of two; an emoji, and a character of a script that
// is written without spaces, such as Japanese, is a word by itself. Links in
// the text are not searched by keywords: use url: for them. Accents count in
// V2Stream only.
//
// The operators most used (the tables in operators.go have all of them):
//
//	from: to: @ retweets_of:                        people, by handle or numeric id
//	conversation_id: in_reply_to_tweet_id:
//	retweets_of_tweet_id: quotes_of_tweet_id:       references, by id
//	is:retweet is:reply is:quote                    kinds of post
//	has:links has:media has:images has:video_link
//	has:hashtags has:mentions has:cashtags has:geo  contents
//	min_likes:10 min_replies:10 min_reposts:10      counts, when the post was fetched
//	lang:en source:"X for iPhone" sample:10         language, client, a share of posts
//	url:example url_contains:example.org/a          links: by words, by substring
//	place:paris place_country:FR                    tagged places
//	since:2026-01-31 until: since_time: until_time:
//	within_time:3h since_id: max_id:                time
//	contains:abc bio_name:nasa filter:safe …        and what PowerTrack and the web have
//
// A query needs a clause that selects posts: a keyword, a tag, an author. What
// most posts have (is:, has:, lang:, min_…, since:) and what only excludes
// narrows such a clause down and is refused alone.
//
// # Dialects
//
// Union, the default, accepts the names of all dialects, and PowerTrack's; it
// writes them in one way and warns where it did. V2Stream and V2Search accept
// what the X API's stream rules and search queries do, and refuse the rest
// with a hint. Web is the web's advanced search: it folds plurals outside of
// quotes, searches links and the author's names as well, and hides native
// retweets unless include:nativeretweets is there.
//
// The sources are the public documents of the X API v2 (filtered stream,
// search, operators), of PowerTrack, and the community's reference of the
// web's search. Where they are silent: AND binds tighter than OR in the web
// dialect too, with the warning W_MIXED; operators that compare a number can
// not stand alone; sample: goes by a hash of the post's id; likes and reposts
// of a native retweet count as none; * is exactly one word.
//
// # What posts do not say
//
// A clause about what the record lacks is neither met nor unmet, and Match is
// true only when the other clauses decide. Profile operators are answered when
// the post carries its author's User. Some answers are approximate: to: and
// retweets_of: by handle go by mentions, has:images by the type or duration of
// media, card_name: by polls, filter:news by a list of domains.
//
// # Errors and warnings
//
// Both are Diagnostics: a code, the bytes of the query, a sentence, and what
// to write instead.
//
//	syntax    E_EMPTY E_EMPTY_GROUP E_EMPTY_PHRASE E_EMPTY_VALUE E_OPERAND E_PAREN
//	          E_QUOTE E_SPACE E_MINUS E_KEYWORD E_WILDCARD E_TAG E_PUNCT E_EMOJI E_AND E_UTF8
//	limits    E_TOO_LONG E_TOO_MANY_CLAUSES E_TOO_DEEP E_PHRASE_TOO_LONG
//	names     E_UNKNOWN_OP E_UNKNOWN_VALUE E_DIALECT E_WEB_NAME
//	values    E_ONE_VALUE E_HANDLE E_ID E_LIST E_NUMBER E_RANGE E_SAMPLE E_LANG E_COUNTRY
//	          E_CONTEXT E_GEO E_DATE E_AGE E_PROXIMITY
//	meaning   E_NO_STANDALONE E_ONLY_NEGATED E_NEG_BRANCH E_BRANCH_NOT_STANDALONE E_NEG_GROUP
//	          E_NOT_NEGATABLE E_MUST_NEGATE E_NEAR E_ONE_LIST E_INCLUDE
//	warnings  W_AND W_MIXED W_NEG_GROUP W_BRANCH_NOT_STANDALONE W_UNSAT W_ALIAS W_WEB_NAME
//	          W_AT W_PUNCT W_QUOTE W_HYPHEN W_EMOJI W_NOT W_MINUS W_COMBINE W_MANY W_LANG
//	          W_UNIT W_NO_EFFECT
package query
