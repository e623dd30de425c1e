package feed

import (
	"crypto/sha256"
	"encoding/base32"
	"slices"
	"strconv"
	"strings"
	"time"
)

// identified is an item of a document, with what is known of the entry.
type identified struct {
	*entry
	*known
	fresh bool // it was never shown before, of a feed that was read
}

// reading is the identification of the items of a document.
type reading struct {
	memory *memory
	feed   string // id of the feed
	now    time.Time
	first  bool // what is new was there before: the feed was never read, or an older page

	items []item
	// How many items of the document, and entries of the memory, have a guid, link or
	// text.
	guids, links, texts map[uint64]int
	byGUID              map[uint64][]*known
	byLink              map[uint64][]*known
	byText              map[dated][]*known
	dated               map[dated]int // items with a text and a date
	taken               map[*known]bool
	ids                 map[string]bool
}

// dated is a text and its date.
type dated struct {
	text uint64
	date int64
}

// item is an item of a document, each entry once.
type item struct {
	entry *entry
	features
	known *known
}

// identify tells which entries a document shows: those of the memory, and new ones, which
// it adds.
func (m *memory) identify(a *account, doc *document, now time.Time, k kind) []identified {
	read := m.Read > 0
	r := &reading{memory: m, feed: a.id, now: now, first: !read || k == older,
		guids: map[uint64]int{}, links: map[uint64]int{}, texts: map[uint64]int{},
		byGUID: map[uint64][]*known{}, byLink: map[uint64][]*known{}, byText: map[dated][]*known{}, dated: map[dated]int{},
		taken: map[*known]bool{}, ids: map[string]bool{}}
	if k == newest && !m.begin(doc) {
		if m.Read++; m.Read == 1 {
			m.note(doc.broken)
		}
	}
	r.index(doc, siteOf(doc, a.url))
	r.match(r.byGUIDs)
	r.match(r.byLinks)
	r.match(r.byTexts)
	out := make([]identified, len(r.items))
	for i := range r.items {
		it := &r.items[i]
		fresh := false
		if it.known == nil {
			it.known, fresh = r.add(it)
		}
		m.show(it.known, &it.features)
		out[i] = identified{it.entry, it.known, fresh && read}
	}
	most := maxKnown
	if k == newest && !doc.cut {
		most = min(max(minKnown, 3*len(out)), maxKnown)
	}
	m.forget(most)
	return out
}

// begin reports whether a document is an unfinished first one: the entries that it lacks
// were there, too. After a few of them it is taken for all that there is. One with an end
// lacks the items alone that could not be read: see note.
func (m *memory) begin(doc *document) bool {
	const few = 3
	if m.Read > 0 || !doc.cut || doc.ended || m.Cut == few {
		return false
	}
	m.Cut++
	return true
}

// note remembers the guids of the items of the first document that could not be read: once
// they can, they are entries that were there.
func (m *memory) note(broken []string) {
	m.dirty = true
	for _, guid := range broken {
		m.Broken = append(m.Broken, hash("g", guid))
	}
}

// index takes the items of a document, each entry once, and the entries of the memory.
func (r *reading) index(doc *document, site string) {
	same := map[uint64][]int{} // items by guid, link and text
	for i := range doc.entries {
		it := item{entry: &doc.entries[i], features: featuresOf(&doc.entries[i], site)}
		keys := append(slices.Clone(it.features.guids), it.link, it.text)
		if r.repeated(&it, keys, same) {
			continue
		}
		for _, key := range keys {
			same[key] = append(same[key], len(r.items))
		}
		r.items = append(r.items, it)
		for _, g := range it.features.guids {
			r.guids[g]++
		}
		r.links[it.link]++
		r.texts[it.text]++
		r.dated[dated{it.text, it.date}]++
	}
	for _, k := range r.memory.Known {
		for _, g := range k.GUIDs {
			r.byGUID[g] = append(r.byGUID[g], k)
		}
		r.byLink[k.Link] = append(r.byLink[k.Link], k)
		key := dated{k.Text, k.Date}
		r.byText[key] = append(r.byText[key], k)
		r.ids[k.ID] = true
	}
}

// repeated reports whether an item repeats one before it.
func (r *reading) repeated(it *item, keys []uint64, same map[uint64][]int) bool {
	for _, key := range keys {
		if key == 0 {
			continue
		}
		for _, other := range same[key] {
			if r.items[other].repeats(&it.features) {
				return true
			}
		}
	}
	return false
}

// match finds the entries of the items that have none yet. An entry is that of one item.
func (r *reading) match(find func(*item) *known) {
	for i := range r.items {
		it := &r.items[i]
		if it.known != nil {
			continue
		}
		if k := find(it); k != nil {
			it.known = k
			r.taken[k] = true
		}
	}
}

// byGUIDs finds an entry by its guid. One that several entries have does not suffice.
func (r *reading) byGUIDs(it *item) *known {
	var found *known
	for _, g := range it.features.guids {
		for _, k := range r.byGUID[g] {
			if r.taken[k] {
				continue
			}
			if r.guids[g] == 1 && len(r.byGUID[g]) == 1 {
				return k
			}
			f := k.features()
			link, text := f.sameLink(&it.features), f.sameText(&it.features)
			switch {
			case link && text:
				return k
			case link && (r.links[it.link] == 1 || f.sameTime(&it.features)), text && f.sameDate(&it.features):
				found = k
			}
		}
	}
	return found
}

// byLinks finds an entry by its link, if no other entry has that. Where both have a guid,
// another one, the text or the time must be the same, too.
func (r *reading) byLinks(it *item) *known {
	if it.link == 0 || r.links[it.link] != 1 || len(r.byLink[it.link]) != 1 {
		return nil
	}
	k := r.byLink[it.link][0]
	f := k.features()
	if r.taken[k] || f.bothGUID(&it.features) && !f.sameText(&it.features) && !f.sameTime(&it.features) {
		return nil
	}
	return k
}

// byTexts finds an entry by its text and date, if no other entry has both. Where both have
// a link, another one, the date must tell the second.
func (r *reading) byTexts(it *item) *known {
	key := dated{it.text, it.date}
	if r.dated[key] != 1 || len(r.byText[key]) != 1 {
		return nil
	}
	k := r.byText[key][0]
	f := k.features()
	if r.taken[k] || f.link != 0 && it.link != 0 && f.link != it.link && !f.sameTime(&it.features) {
		return nil
	}
	return k
}

// add remembers a new entry. It is fresh if it was not there before.
func (r *reading) add(it *item) (k *known, fresh bool) {
	there := r.first || slices.ContainsFunc(it.features.guids, func(g uint64) bool { return slices.Contains(r.memory.Broken, g) })
	k = &known{ID: r.newID(it), At: r.firstTime(it.entry.published, there).UnixMilli()}
	r.memory.Known = append(r.memory.Known, k)
	r.memory.dirty = true
	r.taken[k] = true
	r.ids[k.ID] = true
	return k, !there
}

// newID makes the id of an entry of what is least likely to change and tells it from all
// others: its guid, else its link, else its text. What several entries have is joined with
// what follows.
func (r *reading) newID(it *item) string {
	e, text := it.entry, []string{it.entry.title, it.entry.body()}
	date := strconv.FormatInt(it.date, 10)
	link := plainLink(e.link)
	var kinds [][]string
	if len(e.guids) > 0 {
		guid := slices.Min(e.guids)
		key := hash("g", guid)
		if r.guids[key] == 1 && len(r.byGUID[key]) == 0 {
			kinds = append(kinds, []string{"guid", guid})
		}
		if it.link != 0 && r.links[it.link] == 1 {
			kinds = append(kinds, []string{"guid, link", guid, link})
		}
		kinds = append(kinds, append([]string{"guid, text", guid, link}, text...), append([]string{"guid, date", guid, link, date}, text...))
	} else {
		if it.link != 0 && r.links[it.link] == 1 {
			kinds = append(kinds, []string{"link", link})
		}
		if r.texts[it.text] == 1 {
			kinds = append(kinds, append([]string{"text"}, text...))
		}
		kinds = append(kinds, append([]string{"text, link", link}, text...), append([]string{"text, date", link, date}, text...))
	}
	for _, parts := range kinds {
		if id := r.id(parts); !r.ids[id] {
			return id
		}
	}
	last := kinds[len(kinds)-1]
	for n := 2; ; n++ {
		if id := r.id(append(slices.Clone(last), strconv.Itoa(n))); !r.ids[id] {
			return id
		}
	}
}

// id is the feed's id and 120 bits of the SHA-256 of texts, in lower-case base 32.
func (r *reading) id(parts []string) string {
	h := sha256.New()
	for _, p := range parts {
		h.Write([]byte(strconv.Itoa(len(p)) + ":" + p))
	}
	return r.feed + "." + strings.ToLower(base32.StdEncoding.EncodeToString(h.Sum(nil)[:15]))
}

const (
	ahead    = 10 * time.Minute // how far clocks of publishers may be ahead
	dayEarly = 14 * time.Hour   // a day begins so long before UTC's in the first zone
	dayLate  = 38 * time.Hour   // and ends so long after it began in the last
)

// longAgo is when an entry was published that was there already when its feed was first
// read, and does not say: before everything.
var longAgo = time.Unix(0, 0).UTC()

// stamped reports whether a document has the time at which it was made for all entries'
// dates.
func (r *reading) stamped() bool {
	for i := range r.items {
		if it := &r.items[i]; it.date == 0 || it.date != r.items[0].date {
			return false
		}
	}
	return len(r.items) > 1 && r.now.Sub(r.items[0].entry.published.at).Abs() <= ahead
}

// firstTime is when an entry was published that is seen for the first time: as the feed
// says, and else, or where it says a time in the future, now. One that tells the day alone
// was published when it was seen, if that was on that day somewhere. there says that the
// entry was there before.
func (r *reading) firstTime(d date, there bool) time.Time {
	age := r.now.Sub(d.at)
	unknown := d.at.IsZero() || r.first && r.stamped() || age < -ahead && !(d.day && age >= -dayEarly)
	switch {
	case there && (unknown || d.day && age < 0):
		return longAgo
	case unknown, age < 0, d.day && !there && age <= dayLate:
		return r.now
	}
	return d.at
}
