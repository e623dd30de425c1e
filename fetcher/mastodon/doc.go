// Package mastodon reads accounts of the fediverse through the Mastodon REST
// API: Mastodon itself, and the servers that speak it (GoToSocial, Pleroma,
// Akkoma, Pixelfed and others). Mastodon shows public posts without a key.
//
//	m, err := mastodon.New(mastodon.Config{BaseURL: "https://mastodon.social"})
//	page, err := m.Timeline(ctx, fetcher.TimelineQuery{Username: "Gargron"})
//
// One Fetcher reads from one server. It reads the server's own accounts ("user")
// and accounts of other servers ("user@host"). Posts of the former appear at once.
// Of the latter, only posts that have reached the server appear, once they have.
// Without a Config.Token, servers in restricted mode and most GoToSocial servers
// answer 401 (fetcher.ErrUnauthorized). A token needs the scope "read", or
// read:accounts and read:statuses.
//
// # Pages
//
// A timeline is read from the newest post to older ones. Page.Next holds the max_id
// of the next request. It comes from the server's Link header (rel="next") or, if a
// proxy has stripped that header, is the id of the page's last post. An empty page
// ends the timeline. A short page does not, because servers filter posts after
// cutting the page. since_id is not used: the server answers with the newest posts
// above that id, and after a burst longer than one page, the posts between would be
// missed without notice.
//
// Replies and boosts are part of the timeline. Mastodon does not repeat pinned
// posts at its top; Tweet.Pinned is set only for servers that do.
//
// If the newest page has not changed since the version in TimelineQuery.Known,
// Timeline returns it as Page.Unchanged: see package upstream. Mastodon sends an
// ETag with its answers.
//
// # Posts
//
// Ids are opaque strings (numbers, ULIDs, flake ids) and unique only within the
// polled server. PublishedAt is created_at, to the millisecond; for a boost, that of
// the boost itself. Text is the post's HTML as plain text, preceded by its content
// warning if it has one. A boost's text is "RT @acct: …"; its media, links, counts
// and language are the boosted post's. A post without an id or a valid created_at has
// a zero PublishedAt; the engine drops and counts it.
//
// created_at is set by the author's server. A backdated post has an equally old id
// and appears among old posts. It is found if that page is read, and is no event for
// a monitor that began after its created_at.
//
// Decoding is lenient, since servers differ: unknown fields, null, and optional
// fields of another type are ignored.
//
// # Probes and streams
//
// Fetcher.Probe reads the post counts of up to 40 accounts in one call, which
// Mastodon has since version 4.3. A Stream delivers the posts of the accounts that a
// user follows, as soon as the server has them.
//
// # Tests with a real server
//
// TestServerWire needs two environment variables: MASTODON_URL, a server, and
// MASTODON_TOKEN, a user's access token with the scopes read and write:statuses. It
// creates, edits and deletes one post of that user. Without the variables it is
// skipped. TestWire does the same on a fake server.
//
// This package follows docs.joinmastodon.org (methods accounts/lookup,
// accounts/statuses and streaming; entities Status, Account, MediaAttachment, Poll,
// PreviewCard and Quote; versions up to 4.5) and docs.gotosocial.org.
package mastodon
