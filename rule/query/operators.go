package query

// opID identifies an operator. Its name may differ between dialects.
type opID uint8

const (
	opTerm opID = iota // keyword or phrase
	opEmoticon
	opQuestion
	opHashtag
	opMention
	opCashtag
	opContains
	opEmbedding
	opEmbeddingThreshold

	opFrom
	opTo
	opRetweetsOf
	opFromAffiliate
	opToAffiliate
	opList
	opBio
	opBioName
	opBioLocation
	opMinFollowers
	opFollowers
	opFollowing
	opTweets
	opListed
	opVerified
	opBlueVerified
	opFollows
	opSocial
	opTrusted
	opProfileCountry
	opProfileRegion
	opProfileLocality
	opProfileSubregion
	opHasProfileGeo

	opURL
	opURLTitle
	opURLDescription
	opURLContains
	opContext
	opEntity
	opCardName
	opCardDomain
	opCardURL

	opConversation
	opInReplyTo
	opRetweetsOfTweet
	opQuotesOfTweet
	opQuotedUser

	opIsRetweet
	opIsReply
	opIsQuote
	opNullcast
	opHasHashtags
	opHasMentions
	opHasLinks
	opHasCashtags
	opHasMedia
	opHasImages
	opHasVideos
	opHasGeo
	opHasLang
	opIncludeRetweets
	opOldRetweets
	opSelfThreads
	opTwimg
	opConsumerVideo
	opProVideo
	opPeriscope
	opVine
	opSpaces
	opNews
	opSafe
	opEngagement

	opMinLikes
	opMinReplies
	opMinReposts
	opLang
	opSource
	opSample
	opPlace
	opPlaceCountry
	opPointRadius
	opBoundingBox
	opNear
	opWithin
	opGeocode
	opSince
	opUntil
	opSinceTime
	opUntilTime
	opSinceID
	opMaxID
	opWithinTime

	opCount
)

// argKind is the kind of value that an operator takes.
type argKind uint8

const (
	argNone     argKind = iota
	argWords            // word or phrase, compared word by word
	argLiteral          // any text, compared as it is
	argText             // a name that is kept as it is
	argHandle           // handle or numeric id
	argID               // id of a post or user
	argList             // list id or owner/slug
	argRange            // n for "at least", or a..b
	argCount            // n for "at least"
	argFraction         // 0.0 to 1.0
	argSample           // percent, 1 to 100
	argLang
	argCountry
	argContext // domain.entity
	argCircle  // [lon lat radius]
	argBox     // [west south east north]
	argGeocode // lat,long,radius
	argRadius
	argDate
	argUnix // seconds
	argAge  // 2d, 3h, 5m, 30s
)

// locality tells whether a Tweet is enough to decide an operator.
type locality uint8

const (
	local    locality = iota // it is, at least approximately
	upstream                 // the platform or the author's User is needed
)

// operator is a row of the language's tables.
type operator struct {
	name  string  // in the X dialects and Union; "" if only the web has the operator
	web   string  // in Web; "" if it does not have the operator
	in    sources // the documents that have the operator
	alone sources // the documents that let it stand alone
	arg   argKind
	where locality
	cost  uint8 // of its evaluation: cheap clauses come first
}

const (
	srp  = inS | inR | inP
	srpw = srp | inW
)

// Costs of an evaluation.
const (
	cheap  = 0 // a field is compared
	medium = 1 // a list is compared
	costly = 2 // the text is cut into words
)

// operators is indexed by opID. For some operators, the documents do not say whether they can
// stand alone. Of these, operators that select few posts (ids, words of a link) can, and
// operators that compare a number cannot.
var operators = [opCount]operator{
	opTerm:               {"", "", srpw, srpw, argNone, local, costly},
	opEmoticon:           {"", "", inW, inW, argNone, local, medium},
	opQuestion:           {"", "", inW, inW, argNone, local, medium},
	opHashtag:            {"#", "#", srpw, srpw, argNone, local, medium},
	opMention:            {"@", "@", srpw, srpw, argNone, local, medium},
	opCashtag:            {"$", "$", srpw, srpw, argNone, local, medium},
	opContains:           {"contains", "", inP, inP, argLiteral, local, costly},
	opEmbedding:          {"embedding", "", inS, inS, argText, upstream, cheap},
	opEmbeddingThreshold: {"embedding_threshold", "", inS, 0, argFraction, upstream, cheap},

	opFrom:             {"from", "from", srpw, srpw, argHandle, local, cheap},
	opTo:               {"to", "to", srpw, srpw, argHandle, local, cheap},
	opRetweetsOf:       {"retweets_of", "", srp, srp, argHandle, local, medium},
	opFromAffiliate:    {"from_affiliate_of", "", inS, inS, argHandle, upstream, cheap},
	opToAffiliate:      {"to_affiliate_of", "", inS, inS, argHandle, upstream, cheap},
	opList:             {"list", "list", inR | inW, inR | inW, argList, upstream, cheap},
	opBio:              {"bio", "", inS | inP, inS | inP, argWords, local, costly},
	opBioName:          {"bio_name", "", inS | inP, inS | inP, argWords, local, costly},
	opBioLocation:      {"bio_location", "", inS | inP, inS | inP, argWords, local, costly},
	opMinFollowers:     {"min_followers", "", inS, 0, argCount, upstream, cheap},
	opFollowers:        {"followers_count", "", inS | inP, 0, argRange, upstream, cheap},
	opFollowing:        {"following_count", "", inS | inP, 0, argRange, upstream, cheap},
	opTweets:           {"tweets_count", "", inS | inP, 0, argRange, upstream, cheap},
	opListed:           {"listed_count", "", inS | inP, 0, argRange, upstream, cheap},
	opVerified:         {"is:verified", "filter:verified", srpw, 0, argNone, upstream, cheap},
	opBlueVerified:     {"", "filter:blue_verified", inW, 0, argNone, upstream, cheap},
	opFollows:          {"", "filter:follows", inW, 0, argNone, upstream, cheap},
	opSocial:           {"", "filter:social", inW, 0, argNone, upstream, cheap},
	opTrusted:          {"", "filter:trusted", inW, 0, argNone, upstream, cheap},
	opProfileCountry:   {"profile_country", "", inP, inP, argText, upstream, cheap},
	opProfileRegion:    {"profile_region", "", inP, inP, argText, upstream, cheap},
	opProfileLocality:  {"profile_locality", "", inP, inP, argText, upstream, cheap},
	opProfileSubregion: {"profile_subregion", "", inP, inP, argText, upstream, cheap},
	opHasProfileGeo:    {"has:profile_geo", "", inP, 0, argNone, upstream, cheap},

	opURL:            {"url", "url", srpw, srpw, argWords, local, medium},
	opURLTitle:       {"url_title", "", inS | inP, inS | inP, argWords, upstream, cheap},
	opURLDescription: {"url_description", "", inS | inP, inS | inP, argWords, upstream, cheap},
	opURLContains:    {"url_contains", "", inS | inP, inS | inP, argLiteral, local, medium},
	opContext:        {"context", "", inS | inR, inS | inR, argContext, upstream, cheap},
	opEntity:         {"entity", "", inS | inR, inS | inR, argText, upstream, cheap},
	opCardName:       {"", "card_name", inW, 0, argText, local, cheap},
	opCardDomain:     {"", "card_domain", inW, 0, argLiteral, local, medium},
	opCardURL:        {"", "card_url", inW, 0, argLiteral, local, medium},

	opConversation:    {"conversation_id", "conversation_id", inS | inR | inW, inS | inR | inW, argID, local, cheap},
	opInReplyTo:       {"in_reply_to_tweet_id", "", srp, srp, argID, local, cheap},
	opRetweetsOfTweet: {"retweets_of_tweet_id", "", srp, srp, argID, local, cheap},
	opQuotesOfTweet:   {"quotes_of_tweet_id", "quoted_tweet_id", inR | inW, inR | inW, argID, local, cheap},
	opQuotedUser:      {"", "quoted_user_id", inW, inW, argID, upstream, cheap},

	opIsRetweet:       {"is:retweet", "filter:nativeretweets", srpw, 0, argNone, local, cheap},
	opIsReply:         {"is:reply", "filter:replies", srpw, 0, argNone, local, cheap},
	opIsQuote:         {"is:quote", "filter:quote", srpw, 0, argNone, local, cheap},
	opNullcast:        {"is:nullcast", "", inS | inR, 0, argNone, upstream, cheap},
	opHasHashtags:     {"has:hashtags", "filter:hashtags", srpw, 0, argNone, local, medium},
	opHasMentions:     {"has:mentions", "filter:mentions", srpw, 0, argNone, local, medium},
	opHasLinks:        {"has:links", "filter:links", srpw, 0, argNone, local, medium},
	opHasCashtags:     {"has:cashtags", "", srp, 0, argNone, local, medium},
	opHasMedia:        {"has:media", "filter:media", srpw, 0, argNone, local, cheap},
	opHasImages:       {"has:images", "filter:images", srpw, 0, argNone, local, cheap},
	opHasVideos:       {"has:video_link", "filter:videos", srpw, 0, argNone, local, cheap},
	opHasGeo:          {"has:geo", "", srp, 0, argNone, local, cheap},
	opHasLang:         {"has:lang", "", inP, 0, argNone, local, cheap},
	opIncludeRetweets: {"", "include:nativeretweets", inW, 0, argNone, local, cheap},
	opOldRetweets:     {"", "filter:retweets", inW, 0, argNone, local, cheap},
	opSelfThreads:     {"", "filter:self_threads", inW, 0, argNone, local, cheap},
	opTwimg:           {"", "filter:twimg", inW, 0, argNone, local, cheap},
	opConsumerVideo:   {"", "filter:consumer_video", inW, 0, argNone, local, cheap},
	opProVideo:        {"", "filter:pro_video", inW, 0, argNone, local, cheap},
	opPeriscope:       {"", "filter:periscope", inW, 0, argNone, local, medium},
	opVine:            {"", "filter:vine", inW, 0, argNone, local, medium},
	opSpaces:          {"", "filter:spaces", inW, 0, argNone, local, medium},
	opNews:            {"", "filter:news", inW, 0, argNone, local, medium},
	opSafe:            {"", "filter:safe", inW, 0, argNone, local, cheap},
	opEngagement:      {"", "filter:has_engagement", inW, 0, argNone, local, cheap},

	opMinLikes:     {"min_likes", "min_faves", inR | inW, inR, argCount, local, cheap},
	opMinReplies:   {"min_replies", "min_replies", inR | inW, inR, argCount, local, cheap},
	opMinReposts:   {"min_reposts", "min_retweets", inR | inW, inR, argCount, local, cheap},
	opLang:         {"lang", "lang", srpw, 0, argLang, local, cheap},
	opSource:       {"source", "source", inS | inP | inW, 0, argText, local, medium},
	opSample:       {"sample", "", inS | inP, 0, argSample, local, cheap},
	opPlace:        {"place", "place", srpw, srpw, argText, local, medium},
	opPlaceCountry: {"place_country", "", srp, srp, argCountry, local, cheap},
	opPointRadius:  {"point_radius", "", srp, srp, argCircle, upstream, cheap},
	opBoundingBox:  {"bounding_box", "", srp, srp, argBox, upstream, cheap},
	opNear:         {"", "near", inW, 0, argText, upstream, cheap},
	opWithin:       {"", "within", inW, 0, argRadius, upstream, cheap},
	opGeocode:      {"", "geocode", inW, inW, argGeocode, upstream, cheap},
	opSince:        {"", "since", inW, 0, argDate, local, cheap},
	opUntil:        {"", "until", inW, 0, argDate, local, cheap},
	opSinceTime:    {"", "since_time", inW, 0, argUnix, local, cheap},
	opUntilTime:    {"", "until_time", inW, 0, argUnix, local, cheap},
	opSinceID:      {"", "since_id", inW, 0, argID, local, cheap},
	opMaxID:        {"", "max_id", inW, 0, argID, local, cheap},
	opWithinTime:   {"", "within_time", inW, 0, argAge, local, cheap},
}
