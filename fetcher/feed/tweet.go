package feed

import (
	"net/url"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/fetcher/internal/htmltext"
)

const (
	maxText       = 280      // characters of Text if an entry has no title
	maxFullText   = 64 << 10 // bytes of FullText
	maxTitle      = 1 << 10  // bytes of a title, and of other short texts
	maxCategories = 100
)

// tweet returns an entry as a post. id and at are from the feed's memory.
func (e *entry) tweet(a *account, doc *document, id string, at time.Time) fetcher.Tweet {
	content := htmltext.Content{Text: e.body()}
	if !e.plain {
		content = htmltext.Parse(e.body())
	}
	content.Text = legal(content.Text)
	t := fetcher.Tweet{
		ID: id, Username: a.name, UserID: a.id, UserName: doc.about.title,
		Text: e.title, FullText: clip(together(e.title, content.Text), maxFullText),
		CreatedAt: fetcher.FormatTime(at), PublishedAt: at,
		Lang: language(e.language, doc.about.language), Permalink: e.permalink(a, doc), Source: e.byline(doc),
		Entry: &fetcher.Entry{Title: e.title, Link: e.link, Categories: e.categories, Enclosures: e.enclosures},
		Media: e.media(), URLs: e.urls(content.Links, e.textBase(a, doc)),
	}
	if e.title == "" {
		t.Text = firstOf(content.Text, maxText)
	}
	return t
}

// permalink returns the first of these that exists: the entry's link, its first enclosure, the
// site, the feed's URL.
func (e *entry) permalink(a *account, doc *document) string {
	switch {
	case e.link != "":
		return e.link
	case len(e.enclosures) > 0:
		return e.enclosures[0].URL
	case doc.about.link != "":
		return doc.about.link
	}
	return a.url.String()
}

// together returns the title, a blank line and the text, or text alone if it begins with the
// title.
func together(title, text string) string {
	switch {
	case text == "":
		return title
	case title == "" || strings.HasPrefix(text, strings.TrimRight(title, ".… ")):
		return text
	}
	return title + "\n\n" + text
}

// titleText returns the text of a title in RSS on one line. Such a title may be HTML or not, so
// titleText keeps what only looks like a tag, as in "List<String>" or "Why <script> is slow".
func titleText(s string) string {
	if s = clip(s, 16*maxTitle); strings.ContainsAny(s, "<&") {
		s = htmltext.Parse(escapeWords(s)).Text
	}
	return oneLine(s)
}

// escapeWords escapes each < of an HTML text that begins no tag of an HTML element. It also does
// so for an element whose content is not shown, unless that has an end.
func escapeWords(s string) string {
	var b strings.Builder
	hidden := "" // the last such element that has an end
	for {
		before, after, found := strings.Cut(s, "<")
		b.WriteString(before)
		if !found {
			return b.String()
		}
		l := lexer{text: s[len(before):]}
		t, ok := l.tagHere()
		ok = ok && strings.HasSuffix(l.text[:t.end], ">") // otherwise another tag begins in it
		if ok && t.local() == "math" && !t.closing {      // a formula, whose elements are not HTML's
			if end := strings.Index(strings.ToLower(after), "</math"); end > 0 {
				end += len("</math")
				b.WriteString("<" + after[:end])
				s = after[end:]
				continue
			}
		}
		known, shown := htmltext.IsElement(t.local())
		if !shown && !t.closing && strings.Contains(strings.ToLower(after), "</"+t.local()) {
			hidden = t.local()
		}
		if ok && known && (shown || hidden == t.local()) {
			b.WriteString("<")
		} else {
			b.WriteString("&lt;")
		}
		s = after
	}
}

// oneLine returns a text on one line.
func oneLine(s string) string { return clip(strings.Join(strings.Fields(legal(s)), " "), maxTitle) }

// byline returns the authors of an entry or, if it has none, those of the feed.
func (e *entry) byline(doc *document) string {
	authors := e.authors
	if len(authors) == 0 {
		authors = doc.about.authors
	}
	var names []string
	for _, p := range authors[:min(len(authors), 16)] {
		if p.name != "" {
			names = append(names, p.name)
		} else {
			names = append(names, p.email)
		}
	}
	return clip(strings.Join(names, ", "), maxTitle)
}

// media returns the enclosures that are pictures, sound or film, and the entry's picture.
func (e *entry) media() (media []fetcher.Media) {
	for _, enc := range e.enclosures {
		if kind := mediaType(enc.Type, enc.URL); kind != "" {
			media = append(media, fetcher.Media{MediaKey: enc.URL, Type: kind, URL: enc.URL})
		}
	}
	if e.image == "" {
		return media
	}
	for i := range media {
		if media[i].URL == e.image {
			return media
		}
	}
	return append(media, fetcher.Media{MediaKey: e.image, Type: "photo", URL: e.image})
}

// mediaType returns the Media.Type for kind, a media type. If kind is unknown, the extension of
// href decides. The result is "" if the file is not a picture, sound or film.
func mediaType(kind, href string) string {
	switch family, _, _ := strings.Cut(kind, "/"); family {
	case "image":
		if kind == "image/gif" {
			return "animated_gif"
		}
		return "photo"
	case "video", "audio":
		return family
	case "":
	default:
		return ""
	}
	path, _, _ := strings.Cut(strings.ToLower(href), "?")
	for end, kind := range map[string]string{".jpg": "photo", ".jpeg": "photo", ".png": "photo", ".webp": "photo", ".avif": "photo",
		".gif": "animated_gif", ".mp3": "audio", ".m4a": "audio", ".ogg": "audio", ".opus": "audio", ".mp4": "video", ".webm": "video", ".mov": "video"} {
		if strings.HasSuffix(path, end) {
			return kind
		}
	}
	return ""
}

// textBase returns the base of the links in an entry's text: what the document says, or the first
// of these that exists: the entry's link, the site, the feed's URL.
func (e *entry) textBase(a *account, doc *document) *url.URL {
	if e.base != nil {
		return e.base
	}
	return rebase(rebase(a.url, doc.about.link), e.link)
}

// urls returns the entry's own link and then the links in the text, absolute and without
// duplicates.
func (e *entry) urls(links []htmltext.Link, base *url.URL) (urls []fetcher.URL) {
	known := map[string]bool{}
	add := func(href, display string) {
		if isWeb(href) && !known[href] {
			known[href] = true
			urls = append(urls, fetcher.URL{URL: href, ExpandedURL: href, DisplayURL: display})
		}
	}
	if _, display, ok := strings.Cut(e.link, "://"); ok {
		add(e.link, display)
	}
	for _, l := range links {
		add(absolute(base, l.Href), clip(l.Display, maxTitle))
	}
	return urls
}

// language returns the first of tags that looks like a language tag, in lower case.
func language(tags ...string) string {
	for _, tag := range tags {
		if tag = strings.TrimSpace(tag); tag != "" && len(tag) <= 35 && !strings.ContainsAny(tag, " \t\n_") {
			return strings.ToLower(tag)
		}
	}
	return ""
}

// clip cuts a text to at most n bytes, between two characters.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

// firstOf returns the beginning of a text on one line, cut to n characters at a space.
func firstOf(s string, n int) string {
	s = strings.Join(strings.Fields(clip(s, 8*n)), " ")
	at, count, space := 0, 0, 0
	for at = range s {
		if count == n {
			if space > 0 {
				at = space
			}
			return s[:at] + "…"
		}
		if s[at] == ' ' {
			space = at
		}
		count++
	}
	return s
}
