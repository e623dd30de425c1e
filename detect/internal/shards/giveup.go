package shards

import (
	"errors"
	"fmt"
	"sync"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/detect/internal/parts"
	"github.com/streamwatch/streamwatch/detect/internal/poll"
	"github.com/streamwatch/streamwatch/detect/internal/queries"
	"github.com/streamwatch/streamwatch/fleet"
)

// Left holds cursors that must still be stored, of targets given up: see accounts.Given. It is safe
// for concurrent use, except for concurrent calls of Store. The zero value is empty.
type Left struct {
	mu      sync.Mutex
	cursors map[string]*poll.Cursor // by target
}

// Store calls commit with up to n cursors at a time, by target, and drops the cursors that commit
// stored. After an error the rest stay for the next call. After fleet.ErrFenced it drops all
// cursors and returns nil, because other nodes then have the targets.
func (l *Left) Store(n int, commit func(map[string]*poll.Cursor) error) error {
	for {
		some := l.some(n)
		if len(some) == 0 {
			return nil
		}
		if err := commit(some); errors.Is(err, fleet.ErrFenced) {
			l.Drop()
			return nil
		} else if err != nil {
			return fmt.Errorf("detect: cannot store the cursors of targets given up: %w", err)
		}
		l.mu.Lock()
		for target, c := range some {
			if l.cursors[target] == c { // otherwise an earlier cursor has replaced it
				delete(l.cursors, target)
			}
		}
		l.mu.Unlock()
	}
}

// some returns up to n cursors.
func (l *Left) some(n int) map[string]*poll.Cursor {
	l.mu.Lock()
	defer l.mu.Unlock()
	some := make(map[string]*poll.Cursor, min(n, len(l.cursors)))
	for target, c := range l.cursors {
		if len(some) == n {
			break
		}
		some[target] = c
	}
	return some
}

// Drop drops all cursors.
func (l *Left) Drop() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cursors = nil
}

func (l *Left) add(cursors map[string]*poll.Cursor) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.cursors == nil {
		l.cursors = map[string]*poll.Cursor{}
	}
	for target, c := range cursors {
		if had := l.cursors[target]; had == nil || c.Since.Before(had.Since) {
			l.cursors[target] = c
		}
	}
}

// giveUpSlots is how many slots are examined per message. It is low because polls wait meanwhile.
const giveUpSlots = 4096

// GiveUp gives up the accounts and queries that are not in share. It adds the accounts to
// elsewhere, and to left the cursors that must be stored. It calls done at the end. Polls that wait
// for their commit are still committed.
func (sh *Shard) GiveUp(share *parts.Share, elsewhere *parts.Elsewhere, left *Left, done func()) {
	lacking := map[string]*poll.Cursor{}
	for text, c := range sh.Queries.GiveUp(share.Query) {
		lacking[queries.Target(text)] = c
	}
	left.add(lacking)
	sh.giveUp(0, share, elsewhere, left, done)
}

// giveUp is GiveUp for the accounts from a slot on.
func (sh *Shard) giveUp(from int32, share *parts.Share, elsewhere *parts.Elsewhere, left *Left, done func()) {
	given, more := sh.Accounts.GiveUp(from, giveUpSlots, share.Account)
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

// WhenSettled calls fn when all polls that now wait for their commit have ended.
func (sh *Shard) WhenSettled(fn func()) {
	sh.Accounts.Polls.WhenSettled(func() { sh.Queries.Polls.WhenSettled(fn) })
}
