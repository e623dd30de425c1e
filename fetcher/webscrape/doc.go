// Package webscrape reads web pages as Markdown, HTML or plain text: it is a
// fetcher.Scraper for pages of any origin, named by people who are not trusted.
//
//	s, err := webscrape.New(webscrape.Config{MainContent: true})
//	page, err := s.Scrape(ctx, fetcher.ScrapeQuery{URL: "https://example.com/news", Format: "markdown"})
//	// page.Title, page.Content; page.URL is where redirects led
//
// # Where it connects to
//
// To public addresses only, by the same judgement as webhooks: webhook.PublicAddr,
// applied to the address of each connection at the moment it is made, whatever a
// name resolved to before. Schemes are http and https, ports 80, 443, 8080 and
// 8443; no proxy of the environment is used, and no cookie or Referer is sent.
// Redirects are followed, at most 5; each one passes the same checks as the
// first address. Config.AllowPrivate opens private networks, for tests.
//
// # robots.txt
//
// Is read and followed as RFC 9309 has it, for each origin on the way, unless
// Config.IgnoreRobots is set: the group of the User-Agent's product name, else
// that of *; the longest matching rule counts, Allow at a tie. A missing file
// (4xx) allows everything; one that cannot be had (5xx, no connection) fails
// the call. Files are remembered for an hour, up to 16 MiB of them; of each the
// first 500 KiB and 10,000 rules count.
//
// # Hostile pages
//
// A page may be made to hurt its reader. The bounds: time for the whole call;
// bytes after decompression, of what is kept and of the result; elements; depth
// of elements, of lists and of tables; calls at a time. A page over a bound of
// size is fetcher.ErrMalformed, depth is flattened. The tree is built here, in
// time and memory linear in the page, since golang.org/x/net/html.Parse is not
// (a page of 20 kB can make it build 600,000 nodes): the elements that carry
// content are kept, scripts, styles, frames, forms' fields and drawings are not.
// Encodings are those of the WHATWG standard: byte order mark, Content-Type,
// meta element, else UTF-8 if the page is that, else windows-1252.
//
// The HTML has a fixed set of elements and attributes, absolute links of the
// schemes http, https, mailto and tel, and no scripts; all the same, whoever
// shows it in a browser should pass it through a sanitizer of its own, as any
// foreign HTML.
//
// Main-content extraction is codeberg.org/readeck/go-readability, Markdown is
// made by github.com/JohannesKaufmann/html-to-markdown.
package webscrape
