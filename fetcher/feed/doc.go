// Package feed reads RSS 2.0, RSS 1.0, Atom and JSON Feed. An account is a feed's address:
//
//	feeds, err := feed.New(feed.Config{Contact: "https://example.com/contact"})
//	page, err := feeds.Timeline(ctx, fetcher.TimelineQuery{Username: "https://go.dev/blog/feed.atom"})
//
// In an engine it is a source, with CheckAccount for the names of its accounts:
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
// gofeed (github.com/mmcdole/gofeed) parses RSS and Atom, encoding/json JSON Feeds, of which
// members of another type are left out. Before that, documents are
// transcoded (byte order mark, Content-Type, XML declaration, else UTF-8 if the document
// is that, else windows-1252) and mended: one that is cut off, or broken in some items,
// gives the others. Dates may be seconds since 1970; names of time zones other than those
// of Europe and North America are taken for UTC. A document is bounded: 15 MiB after
// decompression, 20,000 entries, of which the newest 1,000 are read, 300,000 elements and
// attributes, elements 256 deep.
//
// # Which entry is which
//
// The engine tells posts apart by their ids. The id of an entry is a hash of the feed's
// address and of its guid (RSS 1.0: rdf:about; Atom and JSON Feed: id), without a guid of
// its link, without that of its title and date. A link to the site itself is none. What
// several entries of a document share does not tell them apart: their link and the second
// of their date are added, or without that all that they say. An item that repeats another
// one of its document is left out. Ids of two feeds never meet.
//
// An edited entry, or one with a new date, keeps its id. So does one with a new guid, if
// its link and its text stay and the document does not show the old guid as well. When
// guid and link both change, the entry comes again; without a guid, when the link does;
// without both, when the title or the date does.
//
// Of what a feed has shown, the Fetcher remembers the ids with their times, the newest of
// them, at least 256 entries and three times as many as the last whole document had.
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
//   - an entry of the last half hour is delivered again if its guid changes
//
// With a Memory, such as NewDir's, none of this happens. It is written before a page with
// something new is returned; when the process ends before the engine has stored that, the
// next one finds the same entries with the same times. In both cases a server that has
// asked to wait is asked once more.
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
// of one host be read every 15 minutes; one that would wait for more than five seconds
// fails with the time when to come. Each host is a bucket (fetcher.Bucketer): one that
// answers 429 holds up no other. A limit of a host that a feed
// leads to by a redirect is the feed's alone, unless it has moved there. The User-Agent has
// Config.Contact. robots.txt is not asked: feeds are there for programs.
//
// Older pages that a feed names (RFC 5005, next_url) are Page.Next, if they are on the
// same host.
//
// There is no Prober: a conditional request is as cheap as a probe would be, and is the
// truth. With a WebSub, hubs say when to make it.
//
// # WebSub
//
// Many feeds name a hub, which pushes them to whoever subscribes, within seconds: W3C's
// WebSub, and PubSubHubbub before it. A WebSub is the Stream of such feeds. It learns of
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
// A push has the feed polled at once, and is not read further: a poll finds what is new,
// as it does without a hub, and what a hub leaves out. Polls go on as if there were no
// hub, so that one that says nothing costs nothing.
//
// Where all hubs of a feed can be given a secret, by https, pushes have to be signed; one
// that is not is refused, and one with a wrong signature is ignored. A lease is renewed
// after half of its time. A hub that fails three times in a row is left for the next one
// that the feed names. While Stream does not run, hubs are asked to push again (503).
//
// The path that a hub calls and the secret that it signs with follow from
// WebSubConfig.Secret, the feed and its hubs: nothing is stored. A new process with the
// same Secret subscribes again, which hubs take for renewals. A push to a path that is not
// wanted is answered with 410, which ends a subscription. One process has one Callback.
//
// What a proxy in front of the handler has to do:
//
//   - answer by https, with a certificate that hubs accept, the intermediate ones
//     included, and without a redirect;
//   - pass GET with its query, and POST with its body and the field X-Hub-Signature, as
//     they come, up to Config.MaxBody bytes, to everything below the Callback;
//   - ask for no login, and let through many requests from few addresses: hubs push in
//     bursts;
//   - keep the paths out of logs that others read. Who knows one cannot forge a push, but
//     can have the feed polled where its hub has no secret.
//
// Some hubs are met halfway: YouTube's feeds do not name the hub that they have, and call
// themselves something else than it does; the hubs of Google and Superfeedr are asked by
// https where feeds say http. Connections to hubs are not kept, which Superfeedr wants.
package feed
