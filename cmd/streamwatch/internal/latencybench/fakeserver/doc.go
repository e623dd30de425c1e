// Package fakeserver is a fake platform for measuring detectors. It answers as a Mastodon server, so
// any program that can watch Mastodon can watch it.
//
//	GET /api/v1/accounts/lookup?acct=account0001      an account
//	GET /api/v1/accounts/{id}/statuses                its timeline, with ETag and Link
//	GET /api/v1/accounts?id[]=100001&id[]=…           up to 40 accounts with their statuses_count: a probe
//	GET /api/v1/accounts/verify_credentials           the user of any token, who follows everybody
//	GET /api/v1/accounts/1/following                  the accounts that this user follows, 80 a page
//	GET /api/v1/streaming?stream=user                 new posts, over WebSocket; public and public:local are the same
//	GET /api/v2/instance                              the address of the stream
//
// Package enginetest serves the first two. The API follows docs.joinmastodon.org (methods accounts,
// streaming and instance).
package fakeserver
