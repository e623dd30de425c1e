package feed

import (
	"crypto/sha256"
	"encoding/base32"
	"encoding/binary"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// identified is an entry of a document and its record in the memory.
type identified struct {
	*entry
	*known
}

// identify returns the entries of a document with their records in the memory. It adds records
// for new entries. It leaves out items that repeat another item of the document.
func (m *memory) identify(a *account, doc *document, now time.Time, older bool) []identified {
	r := &reading{now: now, there: m.Read == 0 || older, byID: map[string]*known{}, byPage: map[uint64]*known{}}
	r.index(a, doc)
	r.remember(m)
	if !older {
		m.Read++
		m.dirty = m.dirty || m.Read == 1
	}
	out := make([]identified, len(r.items))
	for i, it := range r.items {
		k := r.find(it)
		if k == nil {
			k = &known{ID: it.id, At: r.published(it.published).UnixMilli()}
			m.Known, m.dirty = append(m.Known, k), true
		}
		m.show(k, it.page)
		out[i] = identified{it.entry, k}
	}
	most := maxKnown
	if !older && !doc.cut {
		most = min(max(minKnown, 3*len(out)), maxKnown)
	}
	m.forget(most)
	return out
}

// reading holds the state of identify for one document.
type reading struct {
	now   time.Time
	there bool // unknown entries count as old: the feed was never read, or this is an older page
	items []item

	byID   map[string]*known
	byPage map[uint64]*known // known entries whose id is not in the document
}

// item is an item of a document.
type item struct {
	*entry
	key, full string // identifies the item; identifies it if other items have the same key
	id        string
	page      uint64 // see entry.page; 0 if several items have the same
}

// index computes the ids of a document's items. An id is a hash of the item's key: see
// entry.key. If several items share a key, the hash also includes entry.rest.
func (r *reading) index(a *account, doc *document) {
	site := siteOf(doc, a.url)
	shared, pages, versions := map[string]int{}, map[uint64]int{}, map[string]bool{}
	for i := range doc.entries {
		e := &doc.entries[i]
		it := item{entry: e, key: e.key(site), page: e.page(site)}
		it.full = text(it.key, e.rest(site))
		if !versions[it.full] {
			versions[it.full] = true
			shared[it.key]++
			pages[it.page]++
			r.items = append(r.items, it)
		}
	}
	for i := range r.items {
		it := &r.items[i]
		if it.id = a.id + "." + name(it.key); shared[it.key] > 1 {
			it.id = a.id + "." + name(it.full)
		}
		if pages[it.page] > 1 {
			it.page = 0
		}
	}
}

// remember indexes the known entries by id and by page.
func (r *reading) remember(m *memory) {
	for _, k := range m.Known {
		r.byID[k.ID] = k
	}
	shown := map[*known]bool{}
	for _, it := range r.items {
		shown[r.byID[it.id]] = true
	}
	for _, k := range m.Known {
		if !shown[k] && k.Page != 0 {
			r.byPage[k.Page] = k
		}
	}
}

// find returns the known entry with the item's id. If there is none, the guid may have changed,
// and find returns the known entry with the same link and text. It returns nil for a new entry.
func (r *reading) find(it item) *known {
	if k := r.byID[it.id]; k != nil {
		return k
	}
	return r.byPage[it.page]
}

// key returns the text that identifies an entry in its feed: the guid or, without a guid, the
// link or, without both, the title and date.
func (e *entry) key(site string) string {
	link := plainLink(e.link)
	switch {
	case e.guid != "":
		return text("guid", e.guid)
	case link != "" && link != site:
		return text("link", link)
	case e.title != "":
		return text("title", e.title, e.date())
	}
	return text("text", e.body(), e.date())
}

// rest returns a text that distinguishes entries with the same key. It is the link and the date
// to the second, or the whole entry if it has no such date. Items with the same key and rest
// are versions of one entry.
func (e *entry) rest(site string) string {
	link := plainLink(e.link)
	if exact := !e.published.at.IsZero() && !e.published.day; exact && (e.guid != "" || link != "" && link != site) {
		return text(link, e.date())
	}
	return text(link, e.title, e.body(), e.date())
}

// page returns a hash of an entry's link and text. It returns 0 if there is no link, or if the
// link leads to the site itself.
func (e *entry) page(site string) uint64 {
	link := plainLink(e.link)
	if link == "" || link == site {
		return 0
	}
	sum := sha256.Sum256([]byte(text(link, e.title, e.body())))
	return binary.BigEndian.Uint64(sum[:])
}

func (e *entry) date() string {
	if e.published.at.IsZero() {
		return ""
	}
	return strconv.FormatInt(e.published.at.Unix(), 10)
}

// body returns an entry's content, or its summary if it has no content.
func (e *entry) body() string {
	if e.content != "" {
		return e.content
	}
	return e.summary
}

// text joins parts to one text, so that different lists of parts give different texts.
func text(parts ...string) string {
	var b strings.Builder
	for _, p := range parts {
		b.WriteString(strconv.Itoa(len(p)) + ":" + p)
	}
	return b.String()
}

// name returns 120 bits of the SHA-256 of a text, in lower-case base 32.
func name(text string) string {
	sum := sha256.Sum256([]byte(text))
	return strings.ToLower(base32.StdEncoding.EncodeToString(sum[:15]))
}

// plainLink returns a link in a form for comparison. It removes the scheme, because sites
// change from http to https, and query parameters for counting visitors.
func plainLink(link string) string {
	u, err := url.Parse(link)
	if err != nil || link == "" {
		return ""
	}
	u.Scheme = ""
	params := slices.DeleteFunc(strings.Split(u.RawQuery, "&"), func(p string) bool { return strings.HasPrefix(p, "utm_") })
	u.RawQuery = strings.Join(params, "&")
	return u.String()
}

// siteOf returns the plainLink of the site's home page. An entry with this link counts as an
// entry without a link.
func siteOf(d *document, feed *url.URL) string {
	if link := plainLink(d.about.link); link != "" {
		return link
	}
	return "//" + feed.Host + "/"
}

const (
	ahead    = 10 * time.Minute // how far a publisher's clock may be ahead
	dayEarly = 14 * time.Hour   // a day begins at UTC+14, this long before it begins in UTC
	dayLate  = 38 * time.Hour   // and ends at UTC-14, this long after it begins in UTC
)

// longAgo is the time given to undated entries in the first document of a feed. It is before
// the time of all other entries.
var longAgo = time.Unix(0, 0).UTC()

// published returns the time of publication of a new entry. It is the entry's date, or r.now if
// the date is missing or in the future. If the date has no time of day, it is r.now while it is
// that day somewhere on Earth.
func (r *reading) published(d date) time.Time {
	age := r.now.Sub(d.at)
	unknown := d.at.IsZero() || r.there && r.stamped() || age < -ahead && !(d.day && age >= -dayEarly)
	switch {
	case r.there && (unknown || d.day && age < 0):
		return longAgo
	case unknown, age < 0, d.day && !r.there && age <= dayLate:
		return r.now
	}
	return d.at
}

// stamped reports whether all entries of a document have the time of the request as their date.
func (r *reading) stamped() bool {
	first := r.items[0].published
	for _, it := range r.items {
		if it.published.at.IsZero() || !it.published.at.Equal(first.at) {
			return false
		}
	}
	return len(r.items) > 1 && r.now.Sub(first.at).Abs() <= ahead
}
