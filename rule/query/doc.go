// Package query is the query language of filter rules.
//
// Parse turns a query into a Program. Its method Match reports whether a post matches, without
// allocating:
//
//	p, warnings, err := query.Parse(`"moon landing" (from:nasa OR #artemis) -is:retweet`, query.Options{})
//	…
//	if p.Match(&tweet) { … }
//
// Explain says why a post matches or does not. NeedsUpstream lists the operators that
// cannot be decided from a post's fetcher.Tweet. Translate writes the query in a dialect
// of the X API. A Set matches a post against many programs at once.
//
// # The language
//
// docs/rules.md has all of it for users of the service, with an example of each operator and error.
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
// Case is ignored. Punctuation and symbols separate words, so "coca-cola" is a phrase of two
// words. An emoji is a word. In scripts without spaces between words, such as Japanese, each
// character is a word. Keywords do not match the links in a text: use url: for links. Accents
// count in V2Stream only. A keyword, a phrase or an operator with its value is called a clause.
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
// A query needs a clause that selects posts, such as a keyword, a tag or an author. Negated
// clauses and clauses that most posts meet (is:, has:, lang:, since:, followers_count:) only
// narrow a selection. Parse refuses a query that has no other clauses. Web also refuses
// min_likes:, min_replies: and min_reposts: alone. Union and V2Search accept them, as the X API
// documents.
//
// # Dialects
//
// Union, the default, accepts the names of all dialects and of PowerTrack. It replaces different
// names of one operator by a single name, with a warning. V2Stream and V2Search accept the stream
// rules and search queries of the X API, and refuse everything else with a hint. Web is the web's
// advanced search. Outside of quotes it does not distinguish singular and plural. Its keywords
// also match links and the author's names. It excludes native retweets unless the query asks for
// them.
//
// The sources are the public documents of the X API v2 (filtered stream, search, operators) and
// of PowerTrack, and the community's reference of the web's search. This package decides the
// points that they leave open. AND binds tighter than OR in the web dialect too, with the warning
// W_MIXED. Counts of an author, such as followers_count:, cannot be used alone. sample: uses a
// hash of the post's id. A native retweet has no likes or reposts of its own. * is exactly one
// word.
//
// # Missing data
//
// If a post lacks the data for a clause, both the clause and its negation are unknown. Match is
// then true only if the other clauses suffice. Operators about the author's profile need a Tweet
// with its User. Some operators are approximate. to: and retweets_of: with a handle use mentions.
// has:images uses the type or duration of media. card_name: uses polls, and filter:news a list of
// domains.
//
// # Errors and warnings
//
// Errors and warnings are Diagnostics. Each has a code, a range of bytes in the query, a message,
// and a hint what to write instead.
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
