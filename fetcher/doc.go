// Package fetcher defines how streamwatch reads platforms: the records that a
// platform's posts are mapped to, and the interfaces that an embedding program
// implements.
//
// A Fetcher reads one account's timeline, newest post first, a page at a time.
// That one method is all the engine needs:
//
//	type Fetcher interface {
//		Timeline(ctx context.Context, q TimelineQuery) (Page, error)
//	}
//
// Everything else that a platform offers is a role of its own: a BatchFetcher reads
// timelines of several accounts in one call, a Searcher answers queries. The engine
// takes them from streamwatch.Config.Roles, and those that are nil there from the
// Fetcher's own methods, once, when it is made. So a wrapper passes them on:
//
//	streamwatch.Config{Fetcher: logged{platform}, Roles: fetcher.RolesOf(platform)}
//
// Ready-made adapters live below this package, one per platform (fetcher/mastodon,
// fetcher/bluesky); fetcher/upstream holds the HTTP client that they share.
// fetcher/remote reads another streamwatch service. Where a platform can only be
// searched, fetcher/searchtimeline makes a Fetcher of a Searcher. To write one of your
// own:
//
//  1. Map each post to a Tweet. ID, Username and PublishedAt are what detection needs,
//     Text, FullText (the same where the platform does not cut texts) and CreatedAt (by
//     FormatTime) what every receiver gets; monitors filter by IsRetweet, IsQuoteStatus
//     and InReplyToStatusID. Leave empty what the platform does not have.
//  2. A timeline has posts of its account alone, by Username or, where Page.UserID is
//     set, by UserID: others are dropped, counted and told to the Logger. A repost is a
//     post of who reposted it: it has that account's name, an id and a time of its own,
//     IsRetweet, and the id of the other post in RetweetedStatusID.
//  3. Return posts in the platform's own order, newest first. Ids are opaque to
//     the engine: it never compares them, so they need not be numbers.
//  4. Set Page.Next while older posts exist, and return the sentinel errors of
//     this package so that the engine can tell "gone" from "try again later".
//  5. If decoding is costly, ask TimelineQuery.Seen before decoding a post, and
//     report what was left out with Page.Skipped and Page.OldestAt, which a Reach
//     computes. Package fetcher/scan finds the ids in a page of JSON without decoding it.
//  6. If a page can be told to be the same as last time, give it a Page.Version
//     and answer TimelineQuery.Known with Page.Unchanged. Type upstream.Pages
//     does so by ETag, Last-Modified and a hash of the body.
//  7. Test it with fetchertest.TestFetcher: one call checks all of this contract
//     on a stand-in for the platform.
//
// What an account is called is up to the platform, within what a monitor takes: see
// TimelineQuery.Username.
//
// The records carry the JSON names of the streamwatch wire format, and encode
// to it with AppendJSON, without reflection.
package fetcher
