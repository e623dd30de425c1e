package recorder

import (
	"time"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/detect/internal/poll"
	"github.com/streamwatch/streamwatch/detect/internal/queries"
	"github.com/streamwatch/streamwatch/internal/seen"
)

// query is a query that is played.
type query struct {
	*queries.Targets
	player *player
	shown  map[string]bool // posts of the answers so far
}

// newQuery gives a player a query, as it was before the poll that is to be played.
func newQuery(p *player, settled func(*poll.Poll, []deliver.Event)) {
	l := p.line
	q := &query{queries.NewTargets(p.env, &p.times, settled), p, map[string]bool{}}
	p.target, p.polls = q, q.Polls
	var set *seen.Set // nil if it was empty: the query makes one, and decides for how long it remembers
	is := l.Given.Recalled.SetState
	if !is.Since.IsZero() {
		set = seen.SetOf(is)
	}
	p.slot = queries.Adopt(q.Targets, l.Name, l.Hash, &l.Given.Before, set, is.Horizon)
}

func (q *query) follow(readers []poll.ReaderState) {
	p := q.player
	queries.Follow(q.Targets, p.slot, readers, func(id string) (t queries.Terms) {
		t.Match = p.match(id)
		return t
	}, q.wished)
}

// wished returns when the rules' schedules, all together, want the query next; zero for never.
func (q *query) wished(time.Time) time.Time {
	p := q.player
	if at := p.line.Given.Wished; at != 0 {
		return p.now.Add(time.Duration(at - p.clock))
	}
	return time.Time{}
}

func (q *query) hurry(hurried bool) { queries.Hurry(q.Targets, q.player.slot, hurried) }

// recall has the query remember the posts that it knew before the recording: those that the
// poll knew and no earlier answer has shown. What it knows of others follows from the polls
// that were played.
func (q *query) recall(l *pollLine) {
	set := queries.Memory(q.Targets, q.player.slot)
	for _, k := range l.Given.Recalled.Known {
		if set != nil && !q.shown[k.ID] {
			set.Put(k.ID, k.Old)
		}
	}
	for _, a := range l.Given.Answers {
		for i := range a.Posts {
			q.shown[a.Posts[i].ID] = true
		}
	}
}
