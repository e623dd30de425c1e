// Package fetchertest checks that a fetcher.Fetcher keeps its contract.
//
// Whoever writes a platform adapter calls it from a test of the adapter, with a
// stand-in for the platform that the test can post to:
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
// The example of this package is such a test, whole. The kits of
// fetcher/mastodon and fetcher/bluesky are longer ones, for real protocols.
//
// # What it checks
//
//   - paging: newest first, and Page.Next leads to the end without a post shown
//     twice or left out, also for the next process and while posts come in.
//   - posts: ids that are unique and stay, publication times to the millisecond,
//     the fields that detection needs, and no other account's posts.
//   - seen: TimelineQuery.Seen, Page.Skipped and Page.OldestAt.
//   - since: TimelineQuery.Since, with Seen and Cursor: no post that is not older is left
//     out, and OldestAt says what was read.
//   - version: Page.Version, TimelineQuery.Known and Page.Unchanged.
//   - search: all of these of a fetcher.Searcher, whose posts may lack an author.
//   - errors: the sentinels of package fetcher, and contexts that end.
//   - batch: the order of the pages of a fetcher.BatchFetcher, and Page.Err.
//
// TestProber does the same for a fetcher.Prober, and TestStreamer for a
// fetcher.Streamer: that SignalUp comes first, posts come in order and with whose
// they are, a position resumes with nothing lost, accounts come and go by Changes,
// edits and deletions are no posts, and the call ends as it should. With
// StreamUpstream.Query it is tested as a fetcher.Roles.SearchStream.
//
// A case that needs what the kit does not have is skipped and says what that is.
package fetchertest
