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
// The answer has the newest posts of all accounts asked for. It has every post of an
// account that is newer than the answer's oldest post, however few these are: so far
// back the account's page reaches. Page.Others counts the posts of the other accounts.
// If that does not reach far enough, Page.Next reads the account alone, with "from:a",
// beginning at the newest post. So a call makes one search, no answer is kept, and a
// cursor stays valid after a restart.
//
// Accounts that together post more than a page between two polls cost a search
// each on top: let fewer share a call then (BatchSize of detect.Config), or ask
// for longer pages (PageSize). The same goes for handles so long that fewer fit
// than BatchLimit says: the others are read alone.
//
// # Pages that have not changed
//
// If the Searcher sets Page.Version, so does the page of an account that is read alone,
// and the next search has it as SearchQuery.Known: the upstream's ETag then saves the
// answer. A page of an answer for several accounts has no Version, since such answers
// are not remembered.
//
// # What a search cannot tell
//
// A search goes back as far as the platform's does, a week on some: posts from before
// that are not found after a longer pause. It does not tell an account that is deleted
// or private from one that does not post, and does not follow an account to another
// handle.
package searchtimeline
