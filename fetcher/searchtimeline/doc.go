// Package searchtimeline reads accounts' timelines on platforms that offer only a
// search: its Fetcher is a fetcher.Fetcher and a fetcher.BatchFetcher that asks a
// fetcher.Searcher.
//
//	f, err := searchtimeline.New(searchtimeline.Config{Searcher: platform})
//	engine, err := streamwatch.New(streamwatch.Config{Fetcher: f})
//
// One query asks for several accounts, "from:a OR from:b", up to the platform's longest
// query, and the answer is split by author. A Fetcher is also a Searcher: it passes the
// queries of rules on to its own.
//
// # Several accounts in one answer
//
// The answer has the newest posts of all accounts asked for. For each account, it has
// every post that is newer than the answer's oldest post: this is how far back the
// account's page reaches. Page.Others counts the posts of the other accounts. If the
// page does not reach far enough, Page.Next reads the account alone, with "from:a",
// beginning at its newest post. Each call makes one search. No answer is stored, and a
// cursor stays valid after a restart.
//
// If the accounts of a call together post more than one page between two polls, each
// costs another search. In that case let fewer accounts share a call (BatchSize of
// detect.Config) or ask for longer pages (PageSize). If handles are so long that fewer
// accounts fit into a query than BatchLimit says, the rest are read alone.
//
// # Pages that have not changed
//
// If the Searcher sets Page.Version, the page of an account that is read alone has the
// same Version. The next search passes it as SearchQuery.Known, so the platform can
// answer "not modified". The pages of a shared answer have no Version.
//
// # Limits of a search
//
// A search finds posts only as far back as the platform keeps them searchable, on some
// platforms a week. After a longer pause, older posts are not found. A search shows no
// difference between a deleted or private account and one that does not post. An account
// that changes its handle is not found under the new one.
package searchtimeline
