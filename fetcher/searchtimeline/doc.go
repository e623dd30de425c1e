// Package searchtimeline reads accounts where a platform offers only a search:
// it is a fetcher.Fetcher and a fetcher.BatchFetcher over a fetcher.Searcher.
//
//	f, err := searchtimeline.New(searchtimeline.Config{Searcher: platform})
//	engine, err := streamwatch.New(streamwatch.Config{Fetcher: f})
//
// Several accounts are asked for with one query, "from:a OR from:b", as long as
// the platform lets a query be, and the answer is split by author. Rules go to
// the same Searcher, as a Fetcher is one, too.
//
// # What a shared answer tells of one account
//
// The answer shows the newest posts of all accounts asked for. However few of
// them are one account's, none of its posts is newer than the answer's oldest
// and missing: so far back the account's page reaches, and Page.Others counts
// what the answer has of the others. Where that does not reach far enough, the
// account is read on alone, with "from:a" from the newest post on. So a call
// makes one search, no answer is kept, and a cursor is good after a restart.
//
// Accounts that together post more than a page between two polls cost a search
// each on top: let fewer share a call then (BatchSize of detect.Config), or ask
// for longer pages (PageSize). The same goes for handles so long that fewer fit
// than BatchLimit says: the others are read alone.
//
// # Pages that have not changed
//
// Where the Searcher tells Page.Version, an account that is read alone has it,
// too, and is asked for with SearchQuery.Known: so an upstream's ETag spares the
// answer. Answers for several accounts have no Version: what one of them showed of
// each account is not kept.
//
// # What a search cannot tell
//
// A search goes back as far as the platform's does, a week on some: what was
// published before that, while nobody asked, is not found. It does not tell an
// account that is gone or closed from one that is silent, and does not follow an
// account to another handle.
package searchtimeline
