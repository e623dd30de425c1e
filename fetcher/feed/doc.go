// Package feed reads RSS 2.0, RSS 1.0, Atom and JSON Feed. An account is a feed's URL:
//
//	feeds, err := feed.New(feed.Config{Contact: "https://example.com/contact"})
//	page, err := feeds.Timeline(ctx, fetcher.TimelineQuery{Username: "https://go.dev/blog/feed.atom"})
//
// To use it in an engine, add a source. CheckAccount checks the names of its accounts:
//
//	streamwatch.Source{Name: "feed", Fetcher: feeds, CheckAccount: feed.CheckAccount}
//
// URLs are http or https, at most 512 bytes long, with a public host and port 80, 443,
// 8080 or 8443. They are normalised as in RFC 3986, section 6.2.2:
// "HTTP://Example.com:80/%7Ea" is the same feed as "http://example.com/~a". Unless
// Config.AllowPrivate is set, connections go to public addresses only, also after redirects.
//
// # Entries as posts
//
// Text is the title on one line, or the beginning of the content if there is no title.
// FullText is the title, a blank line and the content (or the summary if there is none), as
// plain text up to 64 KiB; the title is left out if the content begins with it. Entry has the
// title, the link, the categories and the enclosures. Permalink is the first of these that
// exists: the link, the first enclosure, the site, the feed. Media are the entry's picture
// and all enclosures, also those of Media RSS, that are pictures, sound or film. UserName is
// the feed's title, Source the author of the entry, and Username the account as in the
// query. Relative URLs are made absolute. Counts stay 0.
//
// Package gofeed (github.com/mmcdole/gofeed) parses RSS and Atom; encoding/json parses JSON
// Feeds, without members of a wrong type. Documents are first converted to UTF-8, from the
// encoding of the byte order mark, the Content-Type, the XML declaration or the text itself.
// A document that is cut off, or broken in some items, gives the other items. Dates may be
// seconds since 1970; unknown names of time zones, other than those of Europe and North
// America, count as UTC. A document may have 15 MiB after decompression, 20,000 entries (the
// newest 1,000 are read), 300,000 elements and attributes, and elements nested 256 deep.
//
// # Which entry is which
//
// The engine recognizes posts by their ids. An entry's id is a hash of the feed's URL and of
// the entry's guid (RSS 1.0: rdf:about; Atom and JSON Feed: id). Without a guid it is made
// from the link, without a link from the title and date. A link to the site itself does not
// count. If several entries of a document share the guid or link, the hash also includes the
// link and the date to the second, or, if there is no date, the whole entry. An item that
// repeats another item of the document is left out. Ids of different feeds never collide.
//
// An entry keeps its id if it is edited or gets a new date. It also keeps it with a new
// guid, if link and text stay the same and the document does not have the old guid as well.
// It counts as a new entry if guid and link both change; without a guid, if the link
// changes; without both, if the title or the date changes.
//
// The Fetcher remembers the ids and times of a feed's newest entries: at least 256 entries,
// and three times as many as the last complete document had.
//
// # When an entry was published
//
// PublishedAt is the entry's date when it first appears, and does not change: an old entry
// with today's date is not new. If the date is missing or in the future, PublishedAt is the
// time when the entry was first seen. Static sites often give only the day, or midnight;
// such an entry also gets the time when it was first seen, if it was that day somewhere on
// Earth then. Undated entries in the first document read from a feed count as old: they get
// the year 1970 and are never new. If all entries of a feed have the time of the request,
// they count as undated.
//
// An entry with a date from before its monitor began is no event for that monitor, even if
// it appears later.
//
// # Restarts
//
// Ids are computed from the entries alone where possible: a new process then gives an entry
// the same id, and the engine's journal recognizes it. Without Config.Memory, a restart still
// loses what is not in the document:
//
//   - an entry that appeared while no process ran, and has no date or only the day, counts
//     as old and is not delivered
//   - an old entry that got a new date is delivered once
//   - an entry of the last half hour is delivered again if its guid changes
//
// With a Memory, such as NewDir's, none of this happens. The Memory is written before a page
// with new entries is returned. If the process ends before the engine has stored them, the
// next process finds the same entries with the same times. With or without a Memory, a
// server that has asked to wait gets one more request after a restart.
//
// # What publishers ask for
//
// Reads are conditional: a validator (ETag or Last-Modified) is sent back to the URL that it
// came from. If a server has none, or a new one in every answer, a hash of the body detects
// an unchanged document. The Fetcher remembers a leading permanent redirect until the process
// ends or the feed is not found there. It takes a 410 as final after six hours. It requests
// a document that was cut off in transit again in full.
//
// After a refusal with Retry-After, the Fetcher makes no request until that time. It waits an
// hour after a 410, and a day after a 410 that it takes as final. Cache-Control, Expires, ttl,
// skipHours and skipDays also delay the next read, for at most Config.MaxPause. Until then it
// answers polls from memory, with Page.AsOf set to the time of the last read, and the engine
// later reads back to that time. A poll that needs the posts themselves, such as the first
// one for a new monitor, is made without this delay.
//
// Requests to one host are at least Config.HostGap apart. The default of one second is enough
// to read 900 feeds of one host every 15 minutes. A request that would wait for more than five
// seconds fails with a RateLimitError that says when to retry. Each host is a bucket
// (fetcher.Bucketer): a 429 delays requests to that host only. If a redirect leads to a host
// with a limit, only this feed waits, unless it has moved there permanently. The User-Agent
// contains Config.Contact. The Fetcher ignores robots.txt, because feeds are for programs.
//
// If a feed names a page of older entries (RFC 5005, next_url) on the same host, Page.Next
// leads there.
//
// There is no Prober: a conditional request is as cheap as a probe, and more reliable. With
// a WebSub, hubs say when a request is due.
//
// # WebSub
//
// Many feeds name a hub, which pushes changes to its subscribers within seconds: W3C's
// WebSub, and PubSubHubbub before it. A WebSub is the Stream of such feeds. It finds the hubs
// in the documents that a Fetcher polls, and is the HTTP handler that the hubs call:
//
//	feeds, err := feed.New(feed.Config{Contact: "ops@example.com"})
//	hubs, err := feed.NewWebSub(feed.WebSubConfig{
//		Fetcher:  feeds,
//		Callback: "https://watch.example.com/websub",
//		Secret:   secret.Value(os.Getenv("WEBSUB_SECRET")),
//	})
//	engine, err := streamwatch.New(streamwatch.Config{
//		Sources: []streamwatch.Source{{Name: "feeds", Fetcher: feeds, CheckAccount: feed.CheckAccount,
//			Roles: fetcher.Roles{Stream: hubs}}},
//		Store: store,
//	})
//	mux.Handle("/websub/", hubs)
//
// After a push the engine polls the feed at once. The content of the push is not used: the
// poll finds the new entries, including those that the hub left out. Regular polls go on as
// without a hub, so nothing is lost if a hub stays silent.
//
// If all hubs of a feed use https, they get a secret and must sign their pushes. An unsigned
// push is then refused, and one with a wrong signature is ignored. A lease is renewed after
// half of its time. After three failures in a row of one hub, the next hub that the feed
// names is used. While Stream does not run, pushes are answered with 503: the hub repeats
// them later.
//
// The path that a hub calls and the secret for its signatures are computed from
// WebSubConfig.Secret, the feed and its hubs; nothing is stored. A new process with the
// same Secret subscribes again, which hubs treat as renewals. A push for a feed that is no
// longer wanted is answered with 410, which ends the subscription. A process has one
// Callback.
//
// A proxy in front of the handler must
//
//   - answer by https without a redirect, with a certificate that hubs accept, and send the
//     intermediate certificates;
//   - pass on all requests below the Callback unchanged: GET with its query, POST with
//     X-Hub-Signature and a body of up to Config.MaxBody bytes;
//   - require no login, and allow many requests from few addresses, because hubs push in
//     bursts;
//   - keep the paths out of logs that others read. A path does not suffice to forge a
//     signed push, but it does to cause a poll if the feed's hub has no secret.
//
// Some hubs get special treatment. YouTube's feeds do not name their hub, and the hub knows
// them by another URL. The hubs of Google and Superfeedr are called by https even if a feed
// says http. Connections to hubs are not reused, because Superfeedr requires that.
package feed
