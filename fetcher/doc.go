// Package fetcher defines how streamwatch reads platforms: the records for posts and
// accounts, and the interfaces that an embedding program implements.
//
// A Fetcher reads one account's timeline, newest post first, a page at a time.
// That one method is all the engine needs:
//
//	type Fetcher interface {
//		Timeline(ctx context.Context, q TimelineQuery) (Page, error)
//	}
//
// Each further kind of call has its own interface, called a role. A BatchFetcher reads
// timelines of several accounts in one call; a Searcher answers queries. The engine takes the
// roles from streamwatch.Config.Roles. Where a role is nil there, the engine uses that of
// RolesOf(Config.Fetcher). A wrapper hides the methods of the Fetcher that it wraps, so pass
// the roles too:
//
//	streamwatch.Config{Fetcher: logged{platform}, Roles: fetcher.RolesOf(platform)}
//
// Ready-made adapters live below this package, one per platform (fetcher/mastodon,
// fetcher/bluesky); fetcher/upstream holds the HTTP client that they share. fetcher/remote
// reads another streamwatch service. For a platform that can only be searched,
// fetcher/searchtimeline makes a Fetcher from a Searcher. To write your own adapter:
//
//  1. Map each post to a Tweet. Detection needs ID, Username and PublishedAt. Receivers get
//     Text, FullText (the same text if the platform does not cut texts) and CreatedAt (use
//     FormatTime). Monitors filter by IsRetweet, IsQuoteStatus and InReplyToStatusID. Leave
//     fields zero if the platform does not have them.
//  2. Return only posts of the account asked for. The engine compares the UserID if Page.UserID
//     is set, otherwise the Username. It drops, counts and logs other posts. A repost is a post
//     of the account that reposted. Give it that account's name, its own id and time,
//     IsRetweet, and the original post's id in RetweetedStatusID.
//  3. Return posts in the platform's own order, newest first. Ids are opaque to
//     the engine: it never compares them, so they need not be numbers.
//  4. Set Page.Next while older posts exist. Return the sentinel errors of this package, by
//     which the engine distinguishes "gone" from "try again later".
//  5. If decoding is costly, call TimelineQuery.Seen before decoding a post. Count the
//     posts left out in Page.Skipped, and set Page.OldestAt, which a Reach computes.
//     Package fetcher/scan finds the ids in a page of JSON without decoding it.
//  6. If the adapter can detect that a page has not changed, set Page.Version. Then set
//     Page.Unchanged when TimelineQuery.Known is still the page's version. Type upstream.Pages
//     does this with ETag, Last-Modified and a hash of the body.
//  7. Test the adapter with fetchertest.TestFetcher. One call checks all these rules against a
//     fake platform.
//
// The platform decides what account names look like, within the limits of TimelineQuery.Username.
//
// The records have the JSON names of the streamwatch wire format. AppendJSON encodes
// them without reflection.
package fetcher
