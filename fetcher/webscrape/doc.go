// Package webscrape reads web pages as Markdown, HTML or plain text. It is a fetcher.Scraper
// for pages of any origin, also if untrusted users choose the URLs.
//
//	s, err := webscrape.New(webscrape.Config{MainContent: true})
//	page, err := s.Scrape(ctx, fetcher.ScrapeQuery{URL: "https://example.com/news", Format: "markdown"})
//	// page.Title, page.Content; page.URL is where redirects led
//
// # Where it connects to
//
// A Scraper connects to public addresses only. It checks the address of each connection when
// opening it, as webhooks do (webhook.PublicAddr). Schemes are http and https, ports 80, 443,
// 8080 and 8443. It ignores the proxy settings of the environment, and sends no cookies and no
// Referer. It follows at most 5 redirects, and checks each target like the first URL.
// Config.AllowPrivate allows private networks, for tests.
//
// # robots.txt
//
// Unless Config.IgnoreRobots is set, a Scraper obeys the robots.txt (RFC 9309) of the page's
// origin and of each redirect's origin. It uses the group of the User-Agent's product name, or
// the group of * if there is none. The longest matching rule decides. If two rules are equally
// long, Allow wins. A missing file (4xx) allows everything. If a file cannot be read (5xx, no
// connection), the call fails. Files are cached for an hour, up to 16 MiB in all. Only the
// first 500 KiB and 10,000 rules of a file are used.
//
// # Hostile pages
//
// A page may try to use up time or memory. Therefore the following are limited: the time of a
// call; the bytes of the decompressed page, of the tree and of the result; the number of
// elements; the depth of elements, lists and tables; and the number of concurrent calls. A page
// that is too large gives fetcher.ErrMalformed; elements nested too deep are flattened. This
// package builds the tree itself, in time and memory proportional to the page's size.
// golang.org/x/net/html.Parse can build 600,000 nodes from a page of 20 kB. The tree has only
// elements with content, without scripts, styles, frames, form fields and drawings. The
// encoding is the first of: byte order mark, Content-Type, meta element, XML declaration, UTF-8
// if the page is valid, windows-1252. A meta element that names windows-1252 (iso-8859-1) is
// ignored in a page that is valid UTF-8.
//
// The HTML result has a fixed set of elements and attributes, absolute links with the schemes
// http, https, mailto and tel, and no scripts. Still sanitize it before you show it in a browser.
//
// The main content is found by codeberg.org/readeck/go-readability. Markdown is made by
// github.com/JohannesKaufmann/html-to-markdown.
package webscrape
