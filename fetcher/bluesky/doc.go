// Package bluesky reads accounts of the AT Protocol, the network of Bluesky,
// without a key. A Fetcher reads from one of two sources:
//
//   - an AppView, by default Bluesky's public one, which sends posts with
//     counts, author, pictures and the reposted post;
//   - with Config.PDS, the server that hosts the accounts (a personal data
//     server). It is the first to have a post, but has bare records only: no
//     counts, no author profile, and of a repost only which post it repeats.
//
// A program that watches a few accounts:
//
//	b, err := bluesky.New(bluesky.Config{})
//	page, err := b.Timeline(ctx, fetcher.TimelineQuery{Username: "bsky.app"})
//
// An account is named by its handle ("alice.example.com") or its DID
// ("did:plc:…"). A handle is looked up and remembered for up to an hour; Page.UserID
// is the DID, and a query that carries it as UserID survives a change of the handle.
//
// # Posts
//
// A post's id is the AT URI of its record, "at://did/app.bsky.feed.post/key",
// since the key alone is not unique across accounts. A repost is a post of its
// own with the id of the repost record, IsRetweet, the reposter as author and
// the text "RT @handle: …". From an AppView too old to name that record the id
// is made of the reposter and the post, so that reposting again after an undo
// is not new there. Reposts have no page: Permalink is the reposted post's.
//
// PublishedAt comes from the record key, usually a timestamp identifier in
// microseconds (see TIDTime). The key is not used if it is something else, if its
// time is before November 2022 or more than 5 minutes after that of the answer, or
// if its time is more than 5 minutes after the AppView's indexedAt and the record's
// createdAt is after indexedAt, too. Then PublishedAt is indexedAt, and without
// that createdAt, which the posting program sets as it likes. Imported posts have
// old keys and therefore old times.
//
// An AppView sorts a feed by the earlier of createdAt and the time it indexed
// the post. A new post with a createdAt in the past is therefore among old
// posts. It is found if it is on a page that is read: always on the first,
// which Config.PageSize makes up to 100 posts long, and on an older one only
// when the engine reads that far; otherwise it is missed. A PDS lists by record
// key, and so has such a post at the top.
//
// Indices of hashtags and mentions are code points of Text; Width and Height
// of media are the aspect ratio that the poster stated, not always pixels. A
// feed item without a usable URI becomes an empty Tweet, which the engine drops
// and counts. Unknown fields, null, and fields of another type are ignored; the
// rest of the post is read.
//
// # Pages of a PDS
//
// A PDS lists posts and reposts as two collections, each newest key first, so
// a page costs two requests (one, once a collection has ended). The two lists are
// merged by key and cut where the one that reaches back less far ends: its next
// part may have records that are newer than the rest of the other list. Page.Next
// has the position in each collection: the server's cursor, which is opaque, and
// the key down to which that part was used, so that the part is requested again
// for the rest. A record with a key of a time to come is at the top until
// then, and is marked Pinned.
//
// # Unchanged pages
//
// A newest page that is still the same is Page.Unchanged to a caller that gives
// its version as TimelineQuery.Known: see package upstream. On a PDS both lists
// have to be the same. When only the reposts have changed, and the server answered
// 304 for the posts, a third request reads these.
//
// # Probes and streams
//
// A Fetcher of an AppView is a Prober: Probe asks for the profiles of 25 accounts
// in one call, and their post counts tell which have changed. Two Streamers bring
// posts, edits and deletions some milliseconds after they were made: a Jetstream
// for accounts of the whole network, and a Repos for those that one PDS hosts, from
// that server itself.
//
// # Tests with a real server
//
// The tests TestServer… want a PDS. The command
//
//	.ci/bluesky
//
// starts the reference implementation with a PLC directory of its own, from the npm
// registry and on loopback only, and runs them. Another server is named by
// BLUESKY_PDS_URL. It has to let anybody make accounts, and keeps what the tests
// leave there. TestServerRestart kills the server, whose process id it reads from
// the file that BLUESKY_PDS_PID names, and expects it to be started again. Tests that
// have no server, or one that lacks something, are skipped and say so.
//
// The facts about the protocol are those of the lexicons app.bsky.feed.defs,
// app.bsky.feed.getAuthorFeed, app.bsky.actor.getProfiles, app.bsky.embed.*, app.bsky.richtext.facet,
// com.atproto.repo.listRecords and com.atproto.identity.resolveHandle, of
// atproto.com/specs/tid and /specs/xrpc, and, for the order of listRecords and
// the error names, of the reference implementation bluesky-social/atproto. Those
// about a PDS's stream are of com.atproto.sync.subscribeRepos, of
// atproto.com/specs/event-stream and ipld.io/specs/transport/car/carv1, those about
// Jetstream of github.com/bluesky-social/jetstream, its README and code.
package bluesky
