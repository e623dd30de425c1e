package shards

import (
	"fmt"
	"sync"

	"github.com/streamwatch/streamwatch/detect/internal/poll"
)

// KeepAccounts stores earlier cursors for accounts of a source whose cursor in the journal is too
// late for the source: see accounts.Targets.Behind. It calls done when they are stored, or with an
// error if they could not be.
func (sh *Shard) KeepAccounts(sourceID string, done func(error)) {
	k := &keeping{sh: sh, polls: sh.Accounts.Polls, key: sh.Accounts.Key, done: done}
	k.behind = func() map[int32]*poll.Cursor { return sh.Accounts.Behind(sourceID) }
	k.begin()
}

// KeepQuery is KeepAccounts for the query of a rule.
func (sh *Shard) KeepQuery(sourceID string, done func(error)) {
	k := &keeping{sh: sh, polls: sh.Queries.Polls, key: sh.Queries.Key, done: done}
	k.behind = func() map[int32]*poll.Cursor { return sh.Queries.Behind(sourceID) }
	k.begin()
}

// keeping is a call of KeepAccounts or KeepQuery.
type keeping struct {
	sh     *Shard
	polls  *poll.Machine
	behind func() map[int32]*poll.Cursor // the cursors to store, by slot
	key    func(slot int32) string       // a target's name in the journal
	queued map[int32]bool

	mu   sync.Mutex
	open int // number of cursors not settled yet, plus one until all are queued
	err  error
	done func(error)
}

func (k *keeping) begin() {
	k.queued, k.open = map[int32]bool{}, 1
	k.queue()
}

// queue queues the cursors. If a target's poll waits for its commit, queue waits for that commit,
// and the cursor includes the gaps that the poll leaves. Polls that are judged later keep their own
// cursors early enough: see poll.Machine.cursor.
func (k *keeping) queue() {
	waits, committing := false, k.polls.Committing()
	for slot, c := range k.behind() {
		switch {
		case k.queued[slot]:
		case committing[slot]:
			waits = true
		default:
			k.queued[slot] = true
			k.mu.Lock()
			k.open++
			k.mu.Unlock()
			k.sh.cfg.Store(k.key(slot), c, k.settled)
		}
	}
	if !waits {
		k.settled(nil)
		return
	}
	k.polls.WhenSettled(func() { k.sh.Tell(func(*Shard) { k.queue() }) }) // after the polls have been applied
}

// settled records that a cursor is stored. With an error it records that the cursor is not stored.
func (k *keeping) settled(err error) {
	k.mu.Lock()
	if err != nil && k.err == nil {
		k.err = fmt.Errorf("detect: cannot store earlier cursors for the source: %w", err)
	}
	k.open--
	last, all := k.open == 0, k.err
	k.mu.Unlock()
	if last {
		k.done(all)
	}
}
