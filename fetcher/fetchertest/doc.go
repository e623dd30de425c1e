// Package fetchertest checks that a fetcher.Fetcher keeps its contract.
//
// To test a platform adapter, call TestFetcher with a fake of the platform to which the suite
// can post:
//
//	func TestFetcher(t *testing.T) {
//		fetchertest.TestFetcher(t, fetchertest.Kit{PageSize: 20, Open: open})
//	}
//
//	func open(t testing.TB) fetchertest.Upstream {
//		server := newStandIn(t) // an httptest.Server that answers as the platform does
//		return fetchertest.Upstream{
//			New:      func(t testing.TB) fetcher.Fetcher { return newAdapter(t, server.URL) },
//			Accounts: []string{"ann", "bob", "cyd"},
//			Post:     server.post,
//		}
//	}
//
// The example of this package is a complete test. The tests of fetcher/mastodon and
// fetcher/bluesky have longer kits, for real protocols.
//
// # What it checks
//
//   - paging: posts come newest first, and Page.Next leads to the end. No post is repeated or
//     left out, also after a restart and while new posts appear.
//   - posts: ids are unique and do not change, publication times are exact to the millisecond,
//     the fields for detection are set, and no post is another account's.
//   - seen: TimelineQuery.Seen, Page.Skipped and Page.OldestAt.
//   - since: with TimelineQuery.Since, also with Seen and Cursor, no post since then is left
//     out, and OldestAt is not before the posts read.
//   - version: Page.Version, TimelineQuery.Known and Page.Unchanged.
//   - search: all of the above for a fetcher.Searcher, whose posts may lack an author.
//   - errors: the sentinel errors of package fetcher, and calls whose context ends.
//   - batch: the order of the pages of a fetcher.BatchFetcher, and Page.Err.
//
// TestProber checks a fetcher.Prober. TestStreamer checks a fetcher.Streamer: SignalUp comes
// first, posts come in order and name their authors, resuming from a position loses nothing,
// Changes adds and removes accounts, edits and deletions are not new posts, and the call ends
// when it must. With StreamUpstream.Query, TestStreamer checks a fetcher.Roles.SearchStream.
//
// A case is skipped if it needs a field that the kit does not set. The message names the field.
package fetchertest
