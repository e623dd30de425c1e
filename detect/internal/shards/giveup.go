package shards

import (
	"maps"
	"sync"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/detect/internal/accounts"
	"github.com/streamwatch/streamwatch/detect/internal/parts"
	"github.com/streamwatch/streamwatch/detect/internal/poll"
	"github.com/streamwatch/streamwatch/detect/internal/queries"
)

// Left is the cursors to store of what several shards give up: see accounts.Given. It is
// safe for concurrent use.
type Left struct {
	mu      sync.Mutex
	cursors map[string]*poll.Cursor
}

// NewLeft returns one without cursors.
func NewLeft() *Left { return &Left{cursors: map[string]*poll.Cursor{}} }

// Cursors are those that were left, by their targets.
func (l *Left) Cursors() map[string]*poll.Cursor {
	l.mu.Lock()
	defer l.mu.Unlock()
	return maps.Clone(l.cursors)
}

func (l *Left) add(cursors map[string]*poll.Cursor) {
	l.mu.Lock()
	defer l.mu.Unlock()
	maps.Copy(l.cursors, cursors)
}

// giveUpSlots is how many accounts are looked at at a time, so that polls do not wait.
const giveUpSlots = 4096

// GiveUp gives up the accounts and queries that are not of the share, tells elsewhere of
// the accounts, and calls done at the end. Polls of them that wait for their commit still
// are committed.
func (sh *Shard) GiveUp(share *parts.Share, elsewhere *parts.Elsewhere, left *Left, done func()) {
	lacking := map[string]*poll.Cursor{}
	for text, c := range sh.Queries.GiveUp(share.Query) {
		lacking[queries.Target(text)] = c
	}
	left.add(lacking)
	sh.giveUp(0, share, elsewhere, left, done)
}

// giveUp gives up accounts from a slot on.
func (sh *Shard) giveUp(from int32, share *parts.Share, elsewhere *parts.Elsewhere, left *Left, done func()) {
	given, more := accounts.GiveUp(sh.Accounts, from, giveUpSlots, share.Account)
	for src, hashes := range given.Wanted {
		elsewhere.Add(src.ID, parts.Terms{Owner: src.Owner, Rule: src.Kind == deliver.SourceRule, Interval: src.Interval()}, hashes)
	}
	left.add(given.Cursors)
	if !more {
		done()
		return
	}
	sh.Tell(func(sh *Shard) { sh.giveUp(from+giveUpSlots, share, elsewhere, left, done) })
}

// WhenSettled calls fn when all polls have ended that wait for their commit now.
func (sh *Shard) WhenSettled(fn func()) {
	sh.Accounts.Polls.WhenSettled(func() { sh.Queries.Polls.WhenSettled(fn) })
}
