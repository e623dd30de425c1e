package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/streamwatch/streamwatch/internal/transfer"
	"github.com/streamwatch/streamwatch/storage/internal/sqlstore"
)

// errUnfinished is the error of Open for the target of a copy.
var errUnfinished = fmt.Errorf("%w: %s", ErrVersion, transfer.Unfinished)

// OpenForCopy opens a store for the command that copies stores. It refuses one whose engines run. A
// store to copy must be there.
func OpenForCopy(ctx context.Context, url string, opts Options, use transfer.Use) (transfer.Store, error) {
	config, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, wrap(err)
	}
	opts.use = use
	s, err := open(ctx, config, opts)
	if err != nil {
		return nil, err
	}
	c := &sqlstore.Copy{Store: s.roles, Dialect: copyDialect, Unfinished: s.unfinished, End: s.Close,
		Place: fmt.Sprintf("postgres://%s:%d/%s, schema %s", s.config.ConnConfig.Host, s.config.ConnConfig.Port, s.config.ConnConfig.Database, s.opts.Schema)}
	if err := transfer.CheckStopped(ctx, members{s}); err != nil {
		return nil, errors.Join(fmt.Errorf("postgres: %s: %w", c.Place, err), s.Close(ctx))
	}
	return c, nil
}

var copyDialect = sqlstore.CopyDialect{
	Mark: `UPDATE schema_version SET version = %d`, Version: schemaVersion,
	Used: `SELECT 1 FROM feed_end, fleet WHERE last > 0 OR beats > 0`,
	Numbers: func(q sqlstore.Querier) (n transfer.Numbers, err error) {
		_, err = sqlstore.One(q, `SELECT (SELECT last FROM feed_end), (SELECT CASE WHEN is_called THEN last_value ELSE 0 END FROM state_version_seq),
			erased_seq, (SELECT epoch FROM fleet), delivery_epoch FROM totals`, nil, &n.FeedEnd, &n.Version, &n.Erased, &n.Epoch, &n.DeliveryEpoch)
		return n, err
	},
	SetNumbers: func(n *transfer.Numbers) []sqlstore.Statement {
		return []sqlstore.Statement{
			{Query: `UPDATE feed_end SET last = ?`, Args: []any{int64(n.FeedEnd)}},
			{Query: `SELECT setval('state_version_seq', ?1::bigint) WHERE ?1::bigint > 0`, Args: []any{int64(n.Version)}},
			{Query: `SELECT setval('event_numbers', max(n)) FROM events HAVING max(n) > 0`},
			{Query: `UPDATE totals SET erased_seq = ?, delivery_epoch = ?`, Args: []any{int64(n.Erased), int64(n.DeliveryEpoch)}},
			{Query: `UPDATE fleet SET epoch = ?`, Args: []any{int64(n.Epoch)}},
		}
	},
}
