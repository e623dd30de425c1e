// Package webscrape reads web pages as Markdown, HTML or plain text: it is a
// fetcher.Scraper for pages of any origin, named by people who are not trusted.
//
//	s, err := webscrape.New(webscrape.Config{MainContent: true})
//	page, err := s.Scrape(ctx, fetcher.ScrapeQuery{URL: "https://example.com/news", Format: "markdown"})
//	// page.Title, page.Content; page.URL is where redirects led
//
// # Where it connects to
//
// A Scraper connects to public addresses only, by the same check as webhooks
// (webhook.PublicAddr), which is made on the address of each connection when it is
// opened, whatever the name resolved to before. Schemes are http and https, ports 80,
// 443, 8080 and 8443. It uses no proxy of the environment, and sends no cookie and no
// Referer. It follows at most 5 redirects, and checks each like the first address.
// Config.AllowPrivate allows private networks, for tests.
//
// # robots.txt
//
// The robots.txt of each origin on the way is read and followed (RFC 9309), unless
// Config.IgnoreRobots is set: the group of the User-Agent's product name, else
// that of *; the longest matching rule counts, Allow at a tie. A missing file
// (4xx) allows everything; one that cannot be read (5xx, no connection) fails
// the call. Files are cached for an hour, up to 16 MiB of them; of each the first
// 500 KiB and 10,000 rules count.
//
// # Hostile pages
//
// A page may be made to exhaust its reader. There are bounds on the time of a call;
// on bytes, after decompression, of the page, of the tree and of the result; on the
// number of elements; on the depth of elements, of lists and of tables; and on
// concurrent calls. A page over a bound of size is fetcher.ErrMalformed; elements that
// are too deep are flattened. The tree is built here, in time and memory linear in the
// page, which golang.org/x/net/html.Parse does not promise (a page of 20 kB can make it
// build 600,000 nodes). It has the elements with content, and leaves out scripts,
// styles, frames, form fields and drawings.
// Encodings are those of the WHATWG standard: byte order mark, Content-Type,
// meta element, else UTF-8 if the page is that, else windows-1252. A meta element that
// names windows-1252 (iso-8859-1) does not count in a page that is UTF-8.
//
// The HTML has a fixed set of elements and attributes, absolute links of the
// schemes http, https, mailto and tel, and no scripts. A program that shows it in a
// browser should still sanitize it, like any foreign HTML.
//
// Main-content extraction is codeberg.org/readeck/go-readability, Markdown is
// made by github.com/JohannesKaufmann/html-to-markdown.
package webscrape
