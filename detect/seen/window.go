package seen

import (
	"math/bits"
	"slices"
	"sort"
)

// Window is the set of ids that a timeline showed lately. The zero value is
// empty and ready to use. It is not safe for concurrent use, but Has, and Has
// of one Poll, may be called while nothing else is.
type Window struct {
	keys []uint64 // two sorted runs: the last complete poll's, the older ones'
	last int32    // length of the first run
	text *arena   // the ids themselves, nil while all are numeric
}

// arena keeps ids that are not numbers, in the order of Window.keys.
type arena struct {
	bytes []byte
	ends  []uint32
}

func (a *arena) at(i int) []byte {
	start := uint32(0)
	if i > 0 {
		start = a.ends[i-1]
	}
	return a.bytes[start:a.ends[i]]
}

// Len is the number of ids remembered.
func (w *Window) Len() int { return len(w.keys) }

// Has reports whether the window remembers an id.
func (w *Window) Has(id string) bool { return w.find(id) >= 0 }

func (w *Window) find(id string) int {
	key, numeric := numericKey(id)
	switch {
	case w.text != nil:
		key = textKey(id)
	case !numeric:
		return -1
	}
	if i := w.search(key, id, 0, int(w.last)); i >= 0 {
		return i
	}
	return w.search(key, id, int(w.last), len(w.keys))
}

// search looks in one run; ids with the same hash stand next to each other.
func (w *Window) search(key uint64, id string, from, to int) int {
	i, _ := slices.BinarySearch(w.keys[from:to], key)
	for i += from; i < to && w.keys[i] == key; i++ {
		if w.text == nil || string(w.text.at(i)) == id {
			return i
		}
	}
	return -1
}

// Poll is the view that one poll has of a window: it notes which of the ids
// remembered were shown again.
type Poll struct {
	w     *Window
	shown []uint64 // bit i: key i was asked for
}

// Poll begins one. It is not safe for concurrent use, and ends with the
// window's next change.
func (w *Window) Poll() *Poll {
	return &Poll{w: w, shown: make([]uint64, (len(w.keys)+63)/64)}
}

// Has reports whether the window remembers the id, which the poll has shown.
func (p *Poll) Has(id string) bool {
	i := p.w.find(id)
	if i < 0 {
		return false
	}
	p.shown[i/64] |= 1 << (i % 64)
	return true
}

// all reports whether every id remembered was shown.
func (p *Poll) all() bool {
	n := 0
	for _, word := range p.shown {
		n += bits.OnesCount64(word)
	}
	return n == len(p.w.keys)
}

// Renew ends a complete poll: remembered from now on is what it showed, that is
// what Has was asked for and the new ids, and what the window had besides from
// the last complete poll. Ids given twice count once.
func (w *Window) Renew(p *Poll, newIDs []string) {
	if len(newIDs) == 0 && len(w.keys) == int(w.last) && p.all() {
		return
	}
	var b builder
	for i := range w.keys {
		if p.shown[i/64]&(1<<(i%64)) != 0 {
			b.keep(w, i)
		}
	}
	b.add(w, newIDs)
	b.endRun()
	for i := range int(w.last) {
		if p.shown[i/64]&(1<<(i%64)) == 0 {
			b.keep(w, i)
		}
	}
	*w = b.window()
}

// Add ends a poll that broke off: the new ids are remembered beside all others.
func (w *Window) Add(newIDs []string) {
	if len(newIDs) == 0 {
		return
	}
	var b builder
	for i := range int(w.last) {
		b.keep(w, i)
	}
	b.add(w, newIDs)
	b.endRun()
	for i := int(w.last); i < len(w.keys); i++ {
		b.keep(w, i)
	}
	*w = b.window()
}

// builder collects the ids of a window's two runs.
type builder struct {
	all     []entry
	last    int
	textual bool
}

type entry struct {
	key uint64
	id  string // "" for a numeric id
}

func (b *builder) keep(w *Window, i int) {
	if w.text == nil {
		b.all = append(b.all, entry{key: w.keys[i]})
		return
	}
	b.put(string(w.text.at(i)))
}

func (b *builder) add(w *Window, ids []string) {
	for _, id := range ids {
		if !w.Has(id) {
			b.put(id)
		}
	}
}

func (b *builder) put(id string) {
	if key, ok := numericKey(id); ok {
		b.all = append(b.all, entry{key: key})
		return
	}
	b.textual = true
	b.all = append(b.all, entry{key: textKey(id), id: id})
}

func (b *builder) endRun() { b.last = len(b.all) }

// window lays the ids out. One id that is not a number makes all be kept as
// text: platforms have one kind or the other.
func (b *builder) window() Window {
	if b.textual {
		for i := range b.all {
			if e := &b.all[i]; e.id == "" {
				e.id = formatUint(e.key)
				e.key = textKey(e.id)
			}
		}
	}
	first := compact(b.all[:b.last])
	second := compact(b.all[b.last:])
	w := Window{keys: make([]uint64, 0, len(first)+len(second)), last: int32(len(first))}
	if b.textual {
		w.text = &arena{ends: make([]uint32, 0, len(first)+len(second))}
	}
	for _, run := range [][]entry{first, second} {
		for _, e := range run {
			w.keys = append(w.keys, e.key)
			if b.textual {
				w.text.bytes = append(w.text.bytes, e.id...)
				w.text.ends = append(w.text.ends, uint32(len(w.text.bytes)))
			}
		}
	}
	return w
}

// compact sorts a run and takes out what is there twice.
func compact(run []entry) []entry {
	sort.Slice(run, func(i, j int) bool {
		if run[i].key != run[j].key {
			return run[i].key < run[j].key
		}
		return run[i].id < run[j].id
	})
	return slices.Compact(run)
}
