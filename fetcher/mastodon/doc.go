// Package mastodon reads accounts of the fediverse through the Mastodon REST API, from Mastodon
// and from other servers with this API (GoToSocial, Pleroma, Akkoma, Pixelfed and more).
// Mastodon shows public posts without a key.
//
//	m, err := mastodon.New(mastodon.Config{BaseURL: "https://mastodon.social"})
//	page, err := m.Timeline(ctx, fetcher.TimelineQuery{Username: "Gargron"})
//
// One Fetcher reads from one server. It reads the server's own accounts ("user") and accounts of
// other servers ("user@host"). Posts of its own accounts appear immediately. Posts of other
// servers' accounts appear when they reach the server, and some never do. Without a Config.Token,
// servers in restricted mode and most GoToSocial servers answer 401 (fetcher.ErrUnauthorized). A
// token needs the scope "read", or read:accounts and read:statuses.
//
// # Pages
//
// A timeline is read from the newest post to older ones. Page.Next has the max_id of the next
// request. It comes from the server's Link header (rel="next"). If a proxy has removed that
// header, it is the id of the page's last post. An empty page ends the timeline. A short page
// does not, because servers filter posts after cutting the page. since_id is not used, because
// the server answers with the newest posts above that id. After a burst of more posts than one
// page, the posts in between would be missed without notice.
//
// Replies and boosts are part of the timeline. Some servers repeat pinned posts at the top of
// the timeline, with Tweet.Pinned set. Mastodon does not.
//
// If the newest page has not changed since the version in TimelineQuery.Known, Timeline returns
// it as Page.Unchanged: see package upstream. Mastodon sends an ETag with its answers.
//
// # Posts
//
// Ids are opaque strings (numbers, ULIDs, flake ids) and unique only within the polled server.
// PublishedAt is created_at, to the millisecond; a boost has a created_at of its own. Text is
// the post's HTML as plain text, after its content warning if there is one. A boost's text is
// "RT @acct: …"; its media, links, counts and language are those of the boosted post. A post
// without an id or a valid created_at has a zero PublishedAt; the engine drops and counts it.
//
// Visibility is the post's, or the boosted post's if fewer people can see that. With a token, a
// server also shows posts for followers only, if the token's user follows the author.
// Config.Visibility says whether these are delivered; by default they are not.
//
// The author's server sets created_at. A backdated post has an equally old id and appears among
// old posts. The engine finds it only if it reads the page with the post. A monitor that began
// after created_at gets no event for it.
//
// Because servers differ, decoding ignores unknown fields, null, and optional fields of another
// type.
//
// # Probes and streams
//
// Fetcher.Probe reads the post counts of up to 40 accounts in one call. Mastodon supports this
// call since version 4.3. A Stream delivers the posts of the accounts that a user follows, as
// soon as the server has them.
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
