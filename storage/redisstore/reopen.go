package redisstore

import (
	"context"

	"github.com/streamwatch/streamwatch/deliver"
)

// Reopen implements deliver.Outbox.
func (o outbox) Reopen(ctx context.Context, r deliver.ReopenRequest) (int, error) {
	args := make([]any, 0, 3+len(r.IDs))
	args = append(args, escaped(r.Owner), stamp(r.Due), len(r.IDs))
	for _, id := range r.IDs {
		args = append(args, id)
	}
	out, err := o.s.run(ctx, "outbox_reopen", args...)
	if err != nil {
		return 0, err
	}
	n, err := decimal(text(out[0]))
	return int(n), err
}
