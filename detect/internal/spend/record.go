package spend

import (
	"context"
	"encoding/json"
	"fmt"
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

// target returns the record's name in the journal. Names of accounts and queries have a prefix. The
// nodes of a fleet share one record, because a process may have another name than its predecessor.
// Each node writes all the amounts that it knows, so another node restores an amount that was
// overwritten. Of two amounts of the same node the larger is the later one.
func (c *Config) target() string {
	if c.Node == "" {
		return "spend"
	}
	return "spenders"
}

// layout is the format of a position: a day and its charges.
const layout = "%s posts=%d users=%d events=%d"

// record is the JSON form of a position of a fleet.
type record struct {
	Day   string              `json:"day"`
	Nodes map[string][3]int64 `json:"nodes"` // posts, users and events by node
}

// maxNodes limits the names in a day's record. Further nodes are not counted.
const maxNodes = 1000

func (c *Config) encode(t *tally) string {
	day := t.day.Format(time.DateOnly)
	if c.Node == "" {
		return fmt.Sprintf(layout, day, t.own.Posts, t.own.Users, t.own.Events)
	}
	r := record{Day: day, Nodes: make(map[string][3]int64, len(t.others)+1)}
	for name, b := range t.others {
		r.Nodes[name] = [3]int64{b.Posts, b.Users, b.Events}
	}
	if t.own != (fetcher.Billed{}) {
		r.Nodes[c.Node] = [3]int64{t.own.Posts, t.own.Users, t.own.Events}
	}
	encoded, err := json.Marshal(r)
	if err != nil {
		panic("spend: " + err.Error()) // values of these types can always be encoded
	}
	return string(encoded)
}

// decode parses a position. It returns the zero tally if the position is "" or has the format of
// another version.
func (c *Config) decode(position string) (t tally) {
	r := record{Nodes: map[string][3]int64{}}
	if c.Node != "" {
		if json.Unmarshal([]byte(position), &r) != nil {
			return tally{}
		}
	} else {
		var n [3]int64
		if _, err := fmt.Sscanf(position, layout, &r.Day, &n[0], &n[1], &n[2]); err != nil {
			return tally{}
		}
		r.Nodes[""] = n
	}
	day, err := time.Parse(time.DateOnly, r.Day)
	if err != nil {
		return tally{}
	}
	t = tally{day: day, others: make(map[string]fetcher.Billed, len(r.Nodes))}
	for name, n := range r.Nodes {
		if min(n[0], n[1], n[2]) < 0 {
			return tally{}
		}
		t.others[name] = fetcher.Billed{Posts: n[0], Users: n[1], Events: n[2]}
	}
	t.own = t.others[c.Node]
	delete(t.others, c.Node)
	return t
}

// Begin loads the charges that other processes have stored today. Without a limit it does nothing.
// Call it before Add.
func (s *Spend) Begin(ctx context.Context) {
	if s.cfg.Limit == 0 {
		return
	}
	position, err := s.cfg.Load(ctx, s.cfg.target())
	if err != nil {
		s.cfg.Logger.Error("cannot read today's charges: counting from 0", "error", err)
		return
	}
	was := s.cfg.decode(position)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.turn()
	if was.day.Before(s.today.day) {
		return
	}
	// The charges of a later day were made while the clock was ahead.
	s.today.own, s.today.others, s.stored = was.own, was.others, position
	s.judge()
}

// look reads the charges that the other nodes of a fleet have stored today. If the journal fails,
// the next look reads them.
func (s *Spend) look(ctx context.Context) {
	if s.cfg.Node == "" {
		return
	}
	position, err := s.cfg.Load(ctx, s.cfg.target())
	if err != nil {
		return
	}
	is := s.cfg.decode(position)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.turn()
	s.stored = position
	if !is.day.Equal(s.today.day) {
		return
	}
	if s.today.others == nil {
		s.today.others = map[string]fetcher.Billed{}
	}
	for name, b := range is.others {
		if had, ok := s.today.others[name]; ok || len(s.today.others) < maxNodes {
			s.today.others[name] = fetcher.Billed{Posts: max(had.Posts, b.Posts), Users: max(had.Users, b.Users), Events: max(had.Events, b.Events)}
		}
	}
	s.judge()
}

// Position returns the position to store. ok is false if the journal already has it, or if no limit
// is set.
func (s *Spend) Position() (name, position string, ok bool) {
	if s.cfg.Limit == 0 {
		return "", "", false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.today.all() == (fetcher.Billed{}) {
		return "", "", false
	}
	position = s.cfg.encode(&s.today)
	return s.cfg.target(), position, position != s.stored
}

// Stored records that a position is in the journal.
func (s *Spend) Stored(position string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stored = position
}
