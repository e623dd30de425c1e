package shards

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/streamwatch/streamwatch/detect/internal/accounts"
	"github.com/streamwatch/streamwatch/detect/internal/parts"
	"github.com/streamwatch/streamwatch/detect/internal/poll"
	"github.com/streamwatch/streamwatch/monitor"
)

// All holds the shards of a detector, and what is known about accounts that other nodes poll.
type All struct {
	Shards    []*Shard
	Share     *parts.Share
	Elsewhere *parts.Elsewhere
	// Cursors reads accounts' cursors from the journal, by their keys.
	Cursors func(ctx context.Context, keys []string) (map[string]*poll.Cursor, error)
}

// Division says how a source's accounts are divided among the shards and the other nodes.
type Division struct {
	Source    string
	Accounts  []monitor.Account
	Interval  time.Duration        // 0 if there is none
	Shards    [][]accounts.Account // by shard
	Elsewhere []uint64             // hashes of the accounts that other nodes poll, sorted

	taken map[uint64]bool // hashes that were in Elsewhere before
}

// Divide divides a source's accounts and reads the cursors of the accounts on shards. With known
// set, it leaves out the cursors of accounts that are polled already. It may be called again for
// the same Division.
func (a *All) Divide(ctx context.Context, div *Division, known bool) error {
	n, alone := uint64(len(a.Shards)), a.Share.Alone()
	div.Shards, div.Elsewhere = make([][]accounts.Account, n), nil
	once := make(map[string]struct{}, len(div.Accounts))
	keys := make([]string, 0, len(div.Accounts))
	for i, account := range div.Accounts {
		key := accounts.Key(account.Username)
		if _, twice := once[key]; twice {
			continue
		}
		once[key] = struct{}{}
		hash := accounts.Hash(key)
		if !a.Share.Account(account.Username) {
			div.Elsewhere = append(div.Elsewhere, hash)
			continue
		}
		if !alone && a.Elsewhere.Has(div.Source, hash) {
			if div.taken == nil {
				div.taken = map[uint64]bool{}
			}
			div.taken[hash] = true
		}
		keys = append(keys, key)
		div.Shards[hash%n] = append(div.Shards[hash%n], accounts.Account{Hash: hash, Index: i, Taken: div.taken[hash]})
	}
	slices.Sort(div.Elsewhere)
	div.Elsewhere = slices.Compact(div.Elsewhere)
	if known {
		var err error
		if keys, err = a.unknown(ctx, div); err != nil {
			return err
		}
	}
	cursors, err := a.Cursors(ctx, keys)
	if err != nil {
		return err
	}
	for _, part := range div.Shards {
		for i := range part {
			if len(cursors) > 0 && !part[i].Known {
				part[i].Cursor = cursors[accounts.Key(div.Accounts[part[i].Index].Username)]
			}
		}
		if step := uint64(div.Interval); step > 0 { // gives accounts that are due together neighbouring slots
			slices.SortFunc(part, func(a, b accounts.Account) int { return cmp.Compare(a.Hash%step, b.Hash%step) })
		}
	}
	return nil
}

// askAtOnce is how many accounts a shard looks up per message. It is low because polls wait
// meanwhile.
const askAtOnce = 1024

// unknown marks the accounts that are targets already, and returns the keys of the other accounts.
func (a *All) unknown(ctx context.Context, div *Division) (keys []string, err error) {
	for i, part := range div.Shards {
		for len(part) > 0 {
			chunk := part[:min(askAtOnce, len(part))]
			part = part[len(chunk):]
			known := make([]bool, len(chunk)) // a new slice for each call: after an error the shard may still write to it
			err := a.Shards[i].Ask(ctx, func(sh *Shard) {
				for k, mine := range chunk {
					_, known[k] = sh.Accounts.Find(mine.Hash, div.Accounts[mine.Index].Username)
				}
			})
			if err != nil {
				return nil, err
			}
			for k := range chunk {
				if chunk[k].Known = known[k]; !known[k] {
					keys = append(keys, accounts.Key(div.Accounts[chunk[k].Index].Username))
				}
			}
		}
	}
	return keys, nil
}

// Each calls fn for each polled account whose name is a key of names. It makes one call at a time,
// on the account's shard.
func (a *All) Each(ctx context.Context, names map[string]time.Duration, fn func(sh *Shard, name string, slot int32)) error {
	byShard := make([][]string, len(a.Shards))
	for name := range names {
		i := accounts.HashName(name) % uint64(len(a.Shards))
		byShard[i] = append(byShard[i], name)
	}
	for i, part := range byShard {
		for len(part) > 0 {
			n := min(len(part), askAtOnce)
			err := a.Shards[i].Ask(ctx, func(sh *Shard) {
				for _, name := range part[:n] {
					if slot, ok := sh.Accounts.Find(accounts.HashName(name), name); ok {
						fn(sh, name, slot)
					}
				}
			})
			if err != nil {
				return err
			}
			part = part[n:]
		}
	}
	return nil
}
