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
// 8080 or 8443. They are normalised as in RFC 3986, section 6.2.2, and a last dot of the host is
// dropped: "HTTP://Example.com.:80/%7Ea" is the same feed as "http://example.com/~a". Unless
// Config.AllowPrivate is set, connections go to public addresses only, also after redirects.
//
// # Entries as posts
//
// Text is the title on one line, or the beginning of the content if there is no title. FullText
// is the title, a blank line and the content (or the summary if there is none), as plain text
// up to 64 KiB. If the content begins with the title, FullText is the content alone. Entry has
// the title, the link, the categories and the enclosures. Permalink is the first of these that
// exists: the link, the first enclosure, the site, the feed. Media are the entry's picture and
// the enclosures that are pictures, sound or film, including those of Media RSS. UserName is
// the feed's title, Source the author of the entry, and Username the account as in the query.
// Relative URLs are made absolute. Counts stay 0.
//
// Text is read as its format says. A title in RSS may be HTML or not; what only looks like a tag
// in it is kept. A title of JSON Feed is plain text. Texts of Atom are plain text, HTML or XHTML
// by their type (RFC 4287, section 3.1). Relative links in a text count from xml:base and the
// feed's URL; in RSS and JSON Feed, without xml:base, from the entry's link or the site.
//
// Package gofeed (github.com/mmcdole/gofeed) parses RSS; encoding/xml parses Atom; encoding/json
// parses JSON Feeds, without members of a wrong type. Documents are first unpacked, if their
// bytes are gzip or Content-Encoding says deflate, and converted to UTF-8. The encoding is taken
// from the byte order mark, the Content-Type, the XML declaration or the text itself. Characters
// that XML forbids, and references to them, are left out.
// If a document is cut off, or some items are broken, the other items are read. An item that cannot
// be read becomes a post without an id once, for the engine to count. Dates may be seconds since
// 1970. A date without a time zone is UTC. Names of time zones are those of Europe and North
// America; a date with another name is none, unless it has an offset. A date such as 11/05/2026, of
// which each number can be the month, is none either; with AM or PM the month is the first, with
// dots the second. A document may have 15 MiB after decompression, 20,000 entries (the newest 1,000
// are read), 300,000 elements and attributes, and elements nested 256 deep.
//
// # Which entry is which
//
// The engine recognizes posts by their ids. An entry's id is a hash of the feed's URL and of
// the entry's guid (RSS 1.0: rdf:about; Atom and JSON Feed: id). The link takes the place of a
// missing guid. If the link is missing too, the title and date take its place. A link to the
// site itself does not count. If several entries of a document share the guid or link, the hash
// also includes the link and the date to the second. If there is no date, it includes the whole
// entry. An item that repeats another item of the document is left out. Ids of different feeds
// never collide.
//
// An entry keeps its id if it is edited or gets a new date. If only its guid changes, it keeps
// its id as well, unless the document still has an entry with the old guid. It counts as a new
// entry if guid and link both change. An entry without a guid counts as new if its link
// changes. An entry without guid and link counts as new if its title or date changes.
//
// The Fetcher remembers the ids and times of a feed's newest entries: at least 256 entries,
// and three times as many as the last complete document had.
//
// # When an entry was published
//
// PublishedAt is the date that an entry had when it first appeared. It does not change, so an
// old entry that gets today's date is not new. If the date is missing or in the future,
// PublishedAt is the time when the entry was first seen. Static sites often give only the day,
// or midnight. If it was still that day somewhere on Earth when the entry was first seen,
// PublishedAt is that time. Undated entries in the first document of a feed count as old: they
// get the year 1970 and are never delivered. If all entries of a feed have the time of the
// request as their date, they count as undated.
//
// A monitor gets no event for an entry with a date before the monitor's start, even if the
// entry appears later.
//
// # Restarts
//
// Where possible, an id is computed from the entry alone. A new process then gives the entry
// the same id, and the engine's journal recognizes it. But without Config.Memory, the Fetcher
// forgets the known entries at a restart:
//
//   - an entry that appeared while no process ran, and has no date or only the day, counts
//     as old and is not delivered
//   - an old entry that got a new date is delivered once
//   - an entry of the last half hour is delivered again if its guid changes
//
// With a Memory, such as NewDir's, none of this happens. Timeline writes the Memory before it
// returns a page with new entries. If the process ends before the engine has stored them, the
// next process finds the same entries with the same times. With or without a Memory, the Fetcher
// forgets at a restart that a server has asked it to wait, and makes one request too early.
//
// # What publishers ask for
//
// Requests are conditional. The Fetcher sends a validator (ETag or Last-Modified) back to the
// URL from which it came, unless Last-Modified was within a second of the answer: the feed may
// have been replaced within that second. If a server sends no validator, or a new one in every answer, a hash
// of the body detects an unchanged document. The Fetcher remembers a permanent redirect of the
// feed's URL until the process ends or the feed is not found there. It takes a 410 as final
// after six hours. If a document was cut off in transit, the next request is unconditional.
//
// After a refusal with Retry-After, the Fetcher makes no request until that time. It waits an
// hour after a 410, and a day after a final 410. Cache-Control, Expires, ttl, skipHours and
// skipDays also delay the next request, for at most Config.MaxPause. During this delay the
// Fetcher answers polls from memory, with Page.AsOf set to the time of the last request. The
// engine later reads back to that time. A poll that needs the posts themselves, such as the
// first poll for a new monitor, is not delayed.
//
// Requests to one host are at least Config.HostGap apart. The default of one second is enough
// to read 900 feeds of one host every 15 minutes. The feeds of a host are read in turn
// (fetcher.Turner): owners take turns, and the feeds of an owner are in the order of their
// last turns. A Timeline call without its turn fails with a RateLimitError if it would wait for more
// than five seconds, and keeps its place. Each host is a bucket
// (fetcher.Bucketer), so a 429 delays requests to that host only. If a temporary redirect leads
// to a host that answers 429, only this feed waits. The User-Agent contains Config.Contact. The
// Fetcher ignores robots.txt, because feeds are for programs.
//
// If a feed names a page of older entries (RFC 5005, next_url) on the same host, Page.Next
// leads there.
//
// There is no Prober, because a conditional request is as cheap as a probe and more reliable. A
// WebSub tells the engine immediately which feeds have changed.
//
// # WebSub
//
// Many feeds name a hub that pushes changes to its subscribers within seconds. The protocol is
// W3C's WebSub, formerly PubSubHubbub. Type WebSub is the Stream of such feeds. It finds the
// hubs in the documents that a Fetcher polls. It is also the HTTP handler that the hubs call:
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
// After a push the engine polls the feed immediately. The content of the push is not used: the
// poll finds the new entries, including those that the hub left out. Regular polls continue, so
// nothing is lost if a hub sends nothing.
//
// If all hubs of a feed use https, they get a secret and must sign their pushes. The WebSub
// then refuses an unsigned push and ignores a push with a wrong signature. It renews a lease
// after half of its time. If a hub does not accept a request, the next one leaves the time of the
// lease to the hub. After three failures in a row it tries the feed's next hub. While
// Stream does not run, ServeHTTP answers pushes with 503, and the hub repeats them later.
//
// The path that a hub calls and the secret for its signatures are computed from
// WebSubConfig.Secret, the feed and its hubs. Nothing is stored. A new process with the same
// Secret subscribes again, which renews the subscriptions. A push for a feed that is no longer
// wanted gets the answer 410, which ends the subscription. A process has one Callback.
//
// A proxy in front of the handler must
//
//   - answer by https without a redirect, with a certificate that hubs accept, and send the
//     intermediate certificates;
//   - pass on all requests below the Callback unchanged: GET with its query, POST with
//     X-Hub-Signature and a body of up to Config.MaxBody bytes;
//   - require no login, and allow many requests from few addresses, because hubs push in bursts;
//   - keep the paths out of logs that others read. If the feed's hub has no secret, anybody who
//     knows the path can cause polls.
//
// Some hubs get special treatment. YouTube's feeds do not name their hub, and the hub uses
// another URL for the feed. The hubs of Google and Superfeedr are called by https even if a feed
// names them with http. Connections to hubs are not reused, because Superfeedr requires that.
package feed
