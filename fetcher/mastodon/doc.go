// Package mastodon reads accounts of the fediverse through the Mastodon REST
// API: Mastodon itself, and the servers that speak it (GoToSocial, Pleroma,
// Akkoma, Pixelfed and others). Mastodon shows public posts without a key.
//
//	m, err := mastodon.New(mastodon.Config{BaseURL: "https://mastodon.social"})
//	page, err := m.Timeline(ctx, fetcher.TimelineQuery{Username: "Gargron"})
//
// One Fetcher reads from one server: that server's own accounts ("user"), whose
// posts it has at once, and accounts of other servers ("user@host"), of which it
// has the posts that reached it, when they reached it.
// Servers in restricted mode, and GoToSocial as a rule, answer 401
// (fetcher.ErrUnauthorized) without a Config.Token; a token with the scope
// "read" (or read:accounts and read:statuses) is enough.
//
// # Pages
//
// A timeline is read newest post first, and Page.Next walks to older ones: it
// holds the max_id of the next request, which the server names in its Link
// header (rel="next"); where a proxy stripped that header it is the id of the
// page's last post. A short page is not the end, since servers filter after they
// cut the page; an empty page is. since_id is not used: with a limit the server
// answers with the newest posts above the id, so that after a burst longer than a
// page, posts between the id and the page would be missed unnoticed.
//
// Replies and boosts are part of the timeline. Mastodon does not repeat pinned
// posts at its top; Tweet.Pinned is set only for servers that do.
//
// A newest page that is still the same is Page.Unchanged to a caller that gives
// its version as TimelineQuery.Known: see package upstream. Mastodon sends an ETag
// with its answers.
//
// # Posts
//
// Ids are opaque strings (numbers, ULIDs, flake ids), unique on the polled
// server only; publication times are the post's created_at, in milliseconds,
// a boost's own for a boost. Text is the post's HTML as plain text, after its
// content warning if it has one; a boost reads "RT @acct: …" and carries the
// boosted post's media, links, counts and language. A post without an id or a
// readable created_at is returned with a zero PublishedAt, which the engine
// drops and counts.
//
// created_at is the time that the author's server gives. A backdated post has an
// id that is just as old, and is among old posts: it is found if that page is read,
// and is no event for a monitor that began after its created_at.
//
// Decoding is lenient, since the servers differ: a post is not lost for unknown
// fields, null, or optional fields of another type.
//
// # Probes and streams
//
// Since version 4.3, Mastodon tells the post counts of 40 accounts in one call,
// which Fetcher.Probe makes. A Stream brings the posts of the accounts that a user
// follows, as the server gets them.
//
// # Tests with a real server
//
// TestServerWire wants a server, MASTODON_URL, and an access token of a user of it,
// MASTODON_TOKEN, with the scopes read and write:statuses: it posts, edits and deletes
// one post in that user's name. Without them it is skipped and says so; TestWire does
// the same on a fake server.
//
// The facts about the API are those of docs.joinmastodon.org (methods
// accounts/lookup, accounts/statuses and streaming, entities Status, Account,
// MediaAttachment, Poll, PreviewCard and Quote, versions up to 4.5) and
// docs.gotosocial.org.
package mastodon
