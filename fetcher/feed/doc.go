// Package feed reads RSS 2.0, RSS 1.0, Atom and JSON Feed. An account is a feed's address:
//
//	feeds, err := feed.New(feed.Config{Contact: "https://example.com/contact"})
//	page, err := feeds.Timeline(ctx, fetcher.TimelineQuery{Username: "https://go.dev/blog/feed.atom"})
//
// In an engine it is a source whose accounts CheckAccount judges:
//
//	streamwatch.Source{Name: "feed", Fetcher: feeds, CheckAccount: feed.CheckAccount}
//
// Addresses are http or https, of 512 bytes at most, on a public host and the port 80,
// 443, 8080 or 8443. They are normalised as RFC 3986, section 6.2.2 has it, so that
// "HTTP://Example.com:80/%7Ea" is the same feed as "http://example.com/~a". Connections go
// to public addresses only, redirects included, unless Config.AllowPrivate is set.
//
// # Entries as posts
//
// Text is the title in one line, or where there is none the beginning of the content.
// FullText is the title, a blank line and the content, else the summary, as plain text
// without HTML, up to 64 KiB; a title that begins the content is not repeated. Entry has
// the title, the link, the categories and the enclosures; Permalink is the link, else the
// first enclosure, else the site, else the feed. Media are
// the enclosures, also those of Media RSS, that are pictures, sound or film, and the
// entry's picture. UserName is the feed's title, Source who wrote the entry, Username the
// account as it was asked for. Relative addresses are made absolute. Counts stay 0.
//
// gofeed (github.com/mmcdole/gofeed) does the parsing. Before that, documents are
// transcoded (byte order mark, Content-Type, XML declaration, else UTF-8 if the document
// is that, else windows-1252) and mended: one that is cut off, or broken in some items,
// gives the others. Abbreviations of time zones that gofeed takes for UTC are read, as are
// seconds since 1970. A document is bounded: 15 MiB after decompression, 20,000 entries, of
// which the newest 1,000 are read, 300,000 elements and attributes, elements 256 deep.
//
// # Which entry is which
//
// The engine tells posts apart by their ids, and delivers each once. So an id has to stay
// when an entry is changed, and no two entries may share one. It is the feed's address and
// the guid (RSS 1.0: rdf:about; Atom and JSON Feed: id), hashed; without a guid the link,
// without a link the title and the content. A link to the site itself is none. What
// several entries of a document share does not tell them apart: the next of these is
// added. Ids of two feeds
// never meet: each begins with 16 letters and digits that name the feed.
//
// Publishers also change guids: all of them when they move to another program, some back
// and forth between two servers, a few at every read. Then an entry is known by two of
// three things: its link, its text, and its date to the second. Of what a feed has shown,
// the Fetcher remembers these with the id, the newest of them, at least 256 entries and
// three times as many as the last whole document had. An entry that comes back keeps its id:
//
//   - with another guid, but the same link, and the same text or date
//   - with another guid and link, but the same text and date
//   - without a guid, with the same link, or with the same text and date
//   - with the same guid, whatever else has changed, if no other entry has it
//
// A new guid with the link of another entry, but with other text and another date, is a
// new entry: today's weather, not yesterday's, edited. Where it cannot be known, two
// entries are rather told apart than one lost. An item that repeats another one of its
// document is left out.
//
// # When an entry was published
//
// PublishedAt is what the entry says when it is first shown, and stays: an old entry that
// gets the date of today is not news. An entry without a date, or with one in the future,
// was published when it was first seen. One that tells the day alone, or midnight, as
// static sites write it, was published when it was first seen, if that was on that day
// somewhere on Earth. What a feed shows when it is first read, and does not date, is from
// before: it has 1970 for its time, and is never news. A feed that
// gives all its entries the time of the request is taken for one without dates.
//
// An entry with an honest date from before its monitor began is no event for that monitor,
// also when it appears later.
//
// # Restarts
//
// Ids follow from the entries alone, wherever that can be, so that a new process gives an
// entry the id it had, and the engine's journal knows it. Without Config.Memory a restart
// still forgets what cannot be read from the document:
//
//   - an entry without a date, or with the day alone, that appeared while no process ran
//     is taken for an old one, and not delivered
//   - an old entry that was given a new date is delivered, once
//   - an entry of the last half hour is delivered again if its guid changes, or if it has
//     none and another entry gets the same link
//   - a server that has asked to wait is asked at once
//
// With a Memory, such as NewDir's, none of this happens. It is written before a page with
// something new is returned; when the process ends before the engine has stored that, the
// next one finds the same entries with the same times.
//
// # What publishers ask for
//
// Reads are conditional: a validator goes back as it came, to the URL it came from. Where
// a server has none, or another one with every answer, a hash of the body tells that
// nothing is new. A permanent redirect at the beginning is remembered by the process, until
// the feed is not found there any more. 410 is believed when it has lasted for six hours.
// A document that is cut off on the way is asked for again in full.
//
// Retry-After is waited for without a request, whatever the refusal it came with. So is an
// hour after a 410, and a day after one that is believed.
// Cache-Control, Expires, ttl, skipHours and skipDays say when a feed is to be read again,
// Config.MaxPause at the latest: until then a poll is answered from memory, with Page.AsOf
// the time of the last read, so that the engine goes on to read back to there. A poll that
// needs the posts themselves, such as that for a new monitor, is made all the same.
//
// Requests to one host are Config.HostGap apart, a second by default, which lets 900 feeds
// of one host be read every 15 minutes; those that would wait for more than five seconds are told when to come. Each host is a bucket
// (fetcher.Bucketer): one that answers 429 holds up no other. A limit of a host that a feed
// leads to by a redirect is the feed's alone, unless it has moved there. The User-Agent has
// Config.Contact. robots.txt is asked with Config.Robots only: feeds are there for
// programs.
//
// Older pages that a feed names (RFC 5005, next_url) are Page.Next, if they are on the
// same host.
//
// There is no Prober: a conditional request is as cheap as a probe would be, and is the
// truth. A WebSub has hubs push what is new.
//
// # WebSub
//
// Many feeds name a hub, which pushes them to whoever subscribes, within seconds: W3C's
// WebSub, and PubSubHubbub before it. A WebSub is the stream of such feeds. It learns of
// hubs from the polls of a Fetcher, and is the handler that the hubs call:
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
// Feeds without a hub are polled as before. One with a hub is polled more seldom, once in
// detect.Config.AuditEvery, after the hub has verified the subscription and has pushed
// something, and as before again when
//
//   - the lease ends: it is renewed after two thirds of its time, or after half where the
//     hub was too busy for a renewal (503 or 429), and goes on while a renewal fails;
//   - a poll finds an entry that the hub should have pushed by then. The hub has to push
//     again to be trusted with the feed; each further time it has to push twice as often.
//     A hub that leaves out entries of three feeds between two pushes is trusted with none;
//   - Stream is called anew, as by the engine after a silence that is too long for feeds
//     as busy as these.
//
// There are no heartbeats: a hub that has nothing to push says nothing.
//
// A push is read as a poll's answer is, be it all of the feed or what is new. One without
// an entry, or without a document, has the feed polled. Where a hub can be given a secret,
// by https, its pushes have to be signed; one that is not is refused, and one with a wrong
// signature is ignored. What hubs without https push only has the feed polled.
//
// A push is answered when the engine has taken its entries. While it does not, and while
// Stream does not run, hubs are asked to push again (503). What is lost all the same, in a
// crash for example, the polls find that a new process begins with.
//
// The path that a hub calls and the secret that it signs with follow from
// WebSubConfig.Secret and the names of the hub and the topic: nothing is stored. A new
// process with the same Secret subscribes again, which hubs take for renewals, and takes
// pushes to the old paths as soon as it has polled the feed. With another Secret, pushes
// to old paths are refused until the hubs' leases end. One process has one Callback.
//
// What a proxy in front of the handler has to do:
//
//   - answer by https, with a certificate that hubs accept, the intermediate ones
//     included, and without a redirect;
//   - pass GET with its query, and POST with its body and the fields Content-Type and
//     X-Hub-Signature, as they come, up to Config.MaxBody bytes, to everything below the
//     Callback;
//   - ask for no login, and let through many requests from few addresses: hubs push in
//     bursts;
//   - keep the paths out of logs that others read. Who knows one cannot forge a push, but
//     can have the feed polled where its hub has no secret.
//
// Some hubs are met halfway: YouTube's feeds do not name the hub that they have, and call
// themselves something else than it does; the hubs of Google and Superfeedr are asked by
// https where feeds say http. Connections to hubs are not kept, which Superfeedr wants.
package feed
