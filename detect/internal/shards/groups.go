package shards

import (
	"context"

	"github.com/streamwatch/streamwatch/internal/pace"
)

// groupSlots is how many slots are counted per message. It is low because polls wait meanwhile.
const groupSlots = 4096

// Groups returns the accounts of all shards, grouped for a forecast.
func (a *All) Groups(ctx context.Context) ([]pace.Group, error) {
	counts := map[pace.Group]int{}
	for _, sh := range a.Shards {
		for from, more := int32(0), true; more; from += groupSlots {
			err := sh.Ask(ctx, func(sh *Shard) {
				more = sh.Accounts.Groups(from, groupSlots, counts)
			})
			if err != nil {
				return nil, err
			}
		}
	}
	groups := make([]pace.Group, 0, len(counts))
	for g, n := range counts {
		g.Accounts = n
		groups = append(groups, g)
	}
	return groups, nil
}
