// Package fakeserver is a platform to measure detectors on: it answers as a Mastodon
// server does, and whatever can watch one can be pointed at it.
//
//	GET /api/v1/accounts/lookup?acct=account0001      an account
//	GET /api/v1/accounts/{id}/statuses                its timeline, with ETag and Link
//	GET /api/v1/accounts?id[]=100001&id[]=…           up to 40 accounts with their statuses_count: a probe
//	GET /api/v1/accounts/verify_credentials           the user of any token, who follows everybody
//	GET /api/v1/accounts/1/following                  whom it follows, 80 a page
//	GET /api/v1/streaming?stream=user                 new posts, over WebSocket; public and public:local are the same
//	GET /api/v2/instance                              where it streams
//
// The first two are those of package enginetest. The facts are those of
// docs.joinmastodon.org (methods accounts, streaming and instance).
package fakeserver
