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

// identified is an entry of a document, with what is known of it.
type identified struct {
	*entry
	*known
}

// identify tells which entries a document shows: those of the memory, and new ones, which
// it adds. An item that repeats another one of its document is left out.
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

// reading is the identification of the items of a document.
type reading struct {
	now   time.Time
	there bool // what is new was there before: the feed was never read, or this is an older page
	items []item

	byID   map[string]*known
	byPage map[uint64]*known // entries that the document does not show by their own id; nil for several
}

// item is an item of a document.
type item struct {
	*entry
	key, full string // what tells it from others, and what does where others have the key, too
	id        string
	page      uint64 // 0 without a link, or where several items have it
}

// index takes the items of a document. An id is made of the guid, without one of the link,
// without that of the title and the date. What several items share does not tell them
// apart: the rest is added.
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

// remember indexes the entries that are known.
func (r *reading) remember(m *memory) {
	for _, k := range m.Known {
		r.byID[k.ID] = k
	}
	shown := map[*known]bool{}
	for _, it := range r.items {
		shown[r.byID[it.id]] = true
	}
	for _, k := range m.Known {
		if _, several := r.byPage[k.Page]; several {
			r.byPage[k.Page] = nil
		} else if !shown[k] && k.Page != 0 {
			r.byPage[k.Page] = k
		}
	}
}

// find returns the known entry with the item's id, or after a change of the guid the one
// with the same link and text; nil for a new entry.
func (r *reading) find(it item) *known {
	if k := r.byID[it.id]; k != nil {
		return k
	}
	return r.byPage[it.page]
}

// key is what tells an entry from others.
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

// rest is what tells entries with the same key apart: the link and the second, or where
// there is none all of the entry. Two items that have this in common are versions of one.
func (e *entry) rest(site string) string {
	link := plainLink(e.link)
	if exact := !e.published.at.IsZero() && !e.published.day; exact && (e.guid != "" || link != "" && link != site) {
		return text(link, e.date())
	}
	return text(link, e.title, e.body(), e.date())
}

// page is a hash of an entry's link and text, 0 without a link of its own.
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

// body is what an entry says, less its title.
func (e *entry) body() string {
	if e.content != "" {
		return e.content
	}
	return e.summary
}

// text joins texts; no two lists of them give the same.
func text(parts ...string) string {
	var b strings.Builder
	for _, p := range parts {
		b.WriteString(strconv.Itoa(len(p)) + ":" + p)
	}
	return b.String()
}

// name is 120 bits of the SHA-256 of a text, in lower-case base 32.
func name(text string) string {
	sum := sha256.Sum256([]byte(text))
	return strings.ToLower(base32.StdEncoding.EncodeToString(sum[:15]))
}

// plainLink is a link as it is compared: without its scheme, which sites change from http
// to https, and without the parameters that count visitors.
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

// siteOf is the site's link, as entries' links are compared with it: it is no entry's own.
func siteOf(d *document, feed *url.URL) string {
	if link := plainLink(d.about.link); link != "" {
		return link
	}
	return "//" + feed.Host + "/"
}

const (
	ahead    = 10 * time.Minute // how far clocks of publishers may be ahead
	dayEarly = 14 * time.Hour   // a day begins so long before UTC's in the first zone
	dayLate  = 38 * time.Hour   // and ends so long after it began in the last
)

// longAgo is when an entry was published that was there already when its feed was first
// read, and does not say: before everything.
var longAgo = time.Unix(0, 0).UTC()

// published is when a new entry was published: as the feed says, and else, or where it says
// a time in the future, now. One that tells the day alone was published when it was seen, if
// that was on that day somewhere.
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

// stamped reports whether a document has the time at which it was made for all entries'
// dates.
func (r *reading) stamped() bool {
	first := r.items[0].published
	for _, it := range r.items {
		if it.published.at.IsZero() || !it.published.at.Equal(first.at) {
			return false
		}
	}
	return len(r.items) > 1 && r.now.Sub(first.at).Abs() <= ahead
}
