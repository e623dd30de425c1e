package spend

import (
	"encoding/json"
	"maps"
	"time"

	"github.com/streamwatch/streamwatch/fetcher"
)

// tally holds the charges of a day. The zero value belongs to no day.
type tally struct {
	day    time.Time
	own    fetcher.Billed
	others map[string]fetcher.Billed // charges of the other nodes of a fleet, including those that have ended
}

func (t *tally) all() fetcher.Billed {
	sum := t.own
	for _, b := range t.others {
		sum = sum.Plus(b)
	}
	return sum
}

// record is the stored form of a tally. The nodes of a fleet share one record, because a process may
// have another name than its predecessor. Each node stores all the charges that it knows, so it
// restores those that a node with a wrong clock has replaced.
type record struct {
	Day   string                    `json:"day"`
	Nodes map[string]fetcher.Billed `json:"nodes"`
}

// maxNodes limits the names in a day's record. Further nodes are not counted.
const maxNodes = 1000

// encode returns the record of t, with the own charges under the name node.
func (t *tally) encode(node string) []byte {
	r := record{Day: t.day.Format(time.DateOnly), Nodes: map[string]fetcher.Billed{}}
	maps.Copy(r.Nodes, t.others)
	if t.own != (fetcher.Billed{}) {
		r.Nodes[node] = t.own
	}
	encoded, err := json.Marshal(r)
	if err != nil {
		panic("spend: " + err.Error()) // values of these types can always be encoded
	}
	return encoded
}

// decode returns the day of a record and the charges by node. The day is zero if there is no
// record or another version stored it.
func decode(stored []byte) (day time.Time, nodes map[string]fetcher.Billed) {
	var r record
	if json.Unmarshal(stored, &r) != nil {
		return time.Time{}, nil
	}
	for _, b := range r.Nodes {
		if min(b.Posts, b.Users, b.Events) < 0 {
			return time.Time{}, nil
		}
	}
	day, err := time.Parse(time.DateOnly, r.Day)
	if err != nil {
		return time.Time{}, nil
	}
	return day, r.Nodes
}

// Merge counts the stored charges of today that Spend lacks: those of other nodes and, in the first
// call, those of earlier processes of this node. It returns what to store instead, or stored itself
// if nothing was charged today.
func (s *Spend) Merge(stored []byte) []byte {
	day, nodes := decode(stored)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.turn()
	first := !s.merged
	s.merged = true
	// At first the charges of a later day count too: they were made while the clock was ahead.
	if day.Equal(s.today.day) || first && day.After(s.today.day) {
		if first {
			s.today.own = s.today.own.Plus(nodes[s.cfg.Node])
		}
		delete(nodes, s.cfg.Node)
		s.today.merge(nodes)
		s.judge()
	}
	if s.today.all() == (fetcher.Billed{}) {
		return stored
	}
	return s.today.encode(s.cfg.Node)
}

// merge adds charges of other nodes. Of two amounts of a node the larger is the later one.
func (t *tally) merge(nodes map[string]fetcher.Billed) {
	if t.others == nil {
		t.others = map[string]fetcher.Billed{}
	}
	for name, b := range nodes {
		if had, ok := t.others[name]; ok || len(t.others) < maxNodes {
			t.others[name] = fetcher.Billed{Posts: max(had.Posts, b.Posts), Users: max(had.Users, b.Users), Events: max(had.Events, b.Events)}
		}
	}
}
