// Package bluesky reads accounts of the AT Protocol, the network of Bluesky,
// without a key. A Fetcher reads from one of two sources:
//
//   - an AppView, by default Bluesky's public one. It sends posts with counts, author, pictures
//     and, for a repost, the reposted post.
//   - with Config.PDS, the personal data server that hosts the accounts. It has a post before
//     any other server, but only the bare record: no counts and no author profile. A repost has
//     only the reposted post's address.
//
// To read an account's newest posts:
//
//	b, err := bluesky.New(bluesky.Config{})
//	page, err := b.Timeline(ctx, fetcher.TimelineQuery{Username: "bsky.app"})
//
// An account is named by its handle ("alice.example.com") or its DID ("did:plc:…"). The Fetcher
// looks up the DID of a handle and remembers it for up to an hour. Page.UserID is the DID. A
// query with the DID as UserID still finds the account after its handle has changed.
//
// # Posts
//
// A post's id is the AT URI of its record, "at://did/app.bsky.feed.post/key", because the key
// alone is not unique across accounts. A repost is a Tweet with the id of the repost record,
// IsRetweet set, the reposter as author and the text "RT @handle: …". An old AppView does not
// send the repost record's id. The id is then made of the reposter and the post, so reposting
// again after an undo gives no new id. Permalink of a repost is the page of the reposted post.
//
// PublishedAt is the time in the record key, which is usually a timestamp identifier in
// microseconds (see TIDTime). The key's time is not used if it is before November 2022, or more
// than 5 minutes after the time of the answer. It is also not used if it is more than 5 minutes
// after the AppView's indexedAt and createdAt is later than indexedAt. In these cases, and for
// other keys, PublishedAt is indexedAt or, without that, createdAt. The posting program sets
// createdAt freely. Imported posts have old keys and therefore old times.
//
// An AppView sorts a feed by the earlier of createdAt and the time at which it indexed the
// post. A new post with a createdAt in the past therefore appears among old posts. The engine
// finds it only if it reads the page with the post. It always reads the first page (up to 100
// posts, see Config.PageSize), and older pages only if needed. A PDS sorts by record key and
// has such a post at the top.
//
// Indices of hashtags and mentions count code points of Text; a record's tags, which are not in
// its text, have none. A mention is the DID in its ID. The poster writes any handle over it, so
// Username is set only for the accounts whose handles come with the post: the author's and, from
// an AppView, those of the thread. Width and Height
// of media are the aspect ratio stated by the poster, not always pixels. A feed item
// without a valid URI becomes an empty Tweet, which the engine drops and counts.
// Unknown fields, null, and fields of another type are ignored.
//
// # Pages of a PDS
//
// A PDS has posts and reposts in two collections, each sorted by key, newest first. A page
// costs two requests, or one after a collection has ended. The two lists are merged by key. The
// merged list ends where the first of the two lists ends, because that list's next part may
// have records newer than the rest of the other list. Page.Next has the position in each
// collection: the server's cursor, and the last key used after that cursor. The next page
// requests a part again if some of its records were not used. A record with a key from the
// future is at the top until that time and is marked Pinned.
//
// # Unchanged pages
//
// If the newest page has not changed since the version in TimelineQuery.Known, Timeline returns
// it as Page.Unchanged: see package upstream. On a PDS, both lists must be unchanged. If only
// the reposts have changed and the server answered 304 for the posts, a third request reads the
// posts.
//
// # Probes and streams
//
// A Fetcher of an AppView is a Prober: Probe reads the profiles of up to 25 accounts in one
// call. A changed post count shows that an account has new posts. Two Streamers deliver posts,
// edits and deletions within milliseconds. Jetstream is for accounts of the whole network.
// Repos is for the accounts of one PDS, and connects to that server.
//
// # Tests with a real server
//
// The tests TestServer… need a PDS. The command
//
//	.ci/bluesky
//
// installs the reference implementation from the npm registry, starts it with its own PLC
// directory on loopback only, and runs the tests. BLUESKY_PDS_URL names another server instead.
// That server must let anybody create accounts; the tests do not delete theirs. TestServerRestart
// reads the server's process id from the file named by BLUESKY_PDS_PID, kills the server and
// expects it to be started again. Tests without a suitable server are skipped with a reason.
//
// This package follows the lexicons app.bsky.feed.defs, app.bsky.feed.getAuthorFeed,
// app.bsky.actor.getProfiles, app.bsky.embed.*, app.bsky.richtext.facet,
// com.atproto.repo.listRecords and com.atproto.identity.resolveHandle, and
// atproto.com/specs/tid and /specs/xrpc. The order of listRecords and the error names
// are those of the reference implementation, bluesky-social/atproto. A PDS's stream is
// described by com.atproto.sync.subscribeRepos, atproto.com/specs/event-stream and
// ipld.io/specs/transport/car/carv1; Jetstream by the README, code and lexicon
// (network.bsky.jetstream.subscribeEvents) of github.com/bluesky-social/jetstream.
package bluesky
