package seen

import (
	"cmp"
	"slices"
)

// builder collects the ids of a window's two runs.
type builder struct {
	all     []entry
	last    int
	textual bool
}

type entry struct {
	key  uint64
	id   string // set only with text
	text bool
}

func newBuilder(size int) builder { return builder{all: make([]entry, 0, size)} }

func (b *builder) keep(l *layout, i int) {
	if l.text {
		b.put(l.id(i))
		return
	}
	b.all = append(b.all, entry{key: l.base + l.offset(i)})
}

// add adds the ids that are not in the window yet.
func (b *builder) add(l *layout, ids []string) {
	for _, id := range ids {
		if want, possible := l.want(id); !possible || l.find(want, id) < 0 {
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
	b.all = append(b.all, entry{key: textKey(id), id: id, text: true})
}

func (b *builder) endRun() { b.last = len(b.all) }

// finish returns the string of the ids. If one id is not a number, all ids are stored as text.
// That is rare, because a platform has only one kind of id.
func (b *builder) finish() string {
	if b.textual {
		for i := range b.all {
			if e := &b.all[i]; !e.text {
				id := formatUint(e.key)
				*e = entry{key: textKey(id), id: id, text: true}
			}
		}
	}
	return pack(compact(b.all[:b.last]), compact(b.all[b.last:]), b.textual)
}

// compact sorts a run and removes duplicates.
func compact(run []entry) []entry {
	slices.SortFunc(run, func(a, b entry) int {
		if c := cmp.Compare(a.key, b.key); c != 0 {
			return c
		}
		return cmp.Compare(a.id, b.id)
	})
	return slices.Compact(run)
}
