package recorder

import (
	"time"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/detect/internal/accounts"
	"github.com/streamwatch/streamwatch/detect/internal/poll"
	"github.com/streamwatch/streamwatch/detect/internal/schedule"
	"github.com/streamwatch/streamwatch/internal/seen"
)

// account is an account that is played.
type account struct {
	*accounts.Targets
	player *player
}

// newAccount gives a player an account, as it was before the poll that is to be played.
func newAccount(p *player, settled func(*poll.Poll, []deliver.Event)) {
	l := p.line
	a := &account{accounts.NewTargets(p.env, &p.times, settled), p}
	a.Sched = &timetable{schedule.NewByInterval(grid{a}, p.env.Epoch), a}
	p.target, p.polls = a, a.Polls
	p.slot = accounts.Adopt(a.Targets, l.Name, &l.Given.Before, seen.WindowOf(l.Given.Window.Last, l.Given.Window.Earlier))
}

func (a *account) follow(readers []poll.ReaderState) {
	accounts.Follow(a.Targets, a.player.slot, readers, func(id string) (t accounts.Terms) {
		t.Match = a.player.match(id)
		return t
	})
}

func (a *account) hurry(hurried bool) { a.At(a.player.slot).Set(accounts.Again, hurried) }

func (a *account) recall(*pollLine) {} // Adopt has set the window that it remembers

// grid implements schedule.Accounts.
type grid struct{ *account }

func (g grid) Interval(slot int32) time.Duration {
	if every := g.Targets.Every(slot); every > 0 {
		return every
	}
	return time.Hour // a budget set the pace: what follows from the interval is not compared
}
func (g grid) Hash(int32) uint64          { return g.player.hash }
func (g grid) Username(slot int32) string { return g.Targets.Username(slot) }

// timetable is a schedule by interval; where the recorded one was another, it has no grid.
type timetable struct {
	*schedule.ByInterval
	a *account
}

func (t *timetable) OnGrid(slot int32, after int64) (int64, bool) {
	if t.a.player.line.Decided.Next.IsZero() && !t.a.player.scheduled {
		return 0, false
	}
	return t.ByInterval.OnGrid(slot, after)
}
