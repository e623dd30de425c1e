// Package searchtimeline reads accounts' timelines on platforms that offer only a search. Its
// Fetcher is a fetcher.Fetcher and a fetcher.BatchFetcher that calls a fetcher.Searcher.
//
//	f, err := searchtimeline.New(searchtimeline.Config{Searcher: platform})
//	engine, err := streamwatch.New(streamwatch.Config{Fetcher: f})
//
// One query asks for several accounts, "from:a OR from:b", up to the platform's longest query.
// The Fetcher splits the answer by author. A Fetcher is also a Searcher: it passes the queries
// of rules to Config.Searcher.
//
// # Several accounts in one answer
//
// The answer has the newest posts of all accounts asked for. The page of each account reaches
// back to the answer's oldest post, because every later post of the account is in the answer.
// Page.Others counts the posts of the other accounts. If the page does not reach far enough,
// Page.Next reads the account alone, with "from:a", beginning at its newest post. Each call
// makes one search. No answer is stored, and a cursor stays valid after a restart.
//
// If the accounts of a call together post more than one page between two polls, each account
// costs another search. In that case reduce the accounts per call (BatchSize of detect.Config)
// or increase the posts per page (PageSize). If long handles do not fit into a query of
// BatchLimit accounts, the accounts left out are read alone.
//
// # Pages that have not changed
//
// If the Searcher sets Page.Version, the page of an account that is read alone has the same
// Version. The next search passes the Version as SearchQuery.Known, so the platform can answer
// "not modified". The pages of a shared answer have no Version.
//
// # Limits of a search
//
// A platform keeps posts searchable for a limited time, some for a week. After a longer pause,
// older posts are not found. For a deleted or private account, a search finds nothing, as for
// an account that does not post. If an account changes its handle, it is not found under the
// new handle.
package searchtimeline
