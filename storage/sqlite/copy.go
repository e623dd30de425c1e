package sqlite

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/streamwatch/streamwatch/internal/transfer"
	"github.com/streamwatch/streamwatch/storage/internal/sqlstore"
)

// errUnfinished is the error of checkFile for the target of a copy.
var errUnfinished = fmt.Errorf("%w: %s", ErrVersion, transfer.Unfinished)

// OpenForCopy opens a store for the command that copies stores. It waits as Open does while a Store
// has the file open. A file to copy must be there.
func OpenForCopy(ctx context.Context, path string, opts Options, use transfer.Use) (transfer.Store, error) {
	if _, err := os.Stat(path); use == transfer.Source && errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("sqlite: %w: %s", transfer.ErrMissing, path)
	}
	opts = opts.withDefaults()
	opts.Admin, opts.target = false, use == transfer.Target
	s, err := openStore(ctx, path, opts)
	if err != nil {
		return nil, fmt.Errorf("%w: %s", err, path)
	}
	return &sqlstore.Copy{Store: s.roles, Dialect: copyDialect, Place: s.path, Unfinished: s.unfinished, End: s.Close}, nil
}

var copyDialect = sqlstore.CopyDialect{
	Mark: `PRAGMA user_version = %d`, Version: schemaVersion,
	Used: `SELECT 1 FROM totals WHERE erased_seq > 0 OR epoch > 0 OR removed > 0`,
	Numbers: func(q sqlstore.Querier) (n transfer.Numbers, err error) {
		_, err = sqlstore.One(q, `SELECT coalesce((SELECT max(n) FROM feed), 0), coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'state'), 0), erased_seq, epoch FROM totals`,
			nil, &n.FeedEnd, &n.Version, &n.Erased, &n.Epoch)
		if err == nil {
			n.DeliveryEpoch, err = deliveryEpoch(q)
		}
		return n, err
	},
	SetNumbers: func(n *transfer.Numbers) []sqlstore.Statement {
		list := []sqlstore.Statement{
			{Query: `UPDATE totals SET erased_seq = ?, epoch = ?`, Args: []any{int64(n.Erased), int64(n.Epoch)}},
			{Query: `DELETE FROM sqlite_sequence WHERE name = 'state'`},
			{Query: `INSERT INTO sqlite_sequence (name, seq) VALUES ('state', ?)`, Args: []any{int64(n.Version)}},
		}
		if n.DeliveryEpoch != n.Epoch {
			list = append(list, sqlstore.Statement{Query: fmt.Sprintf(`CREATE TABLE delivery_epoch AS SELECT %d AS epoch`, n.DeliveryEpoch)}) // see schema
		}
		return list
	},
}

// deliveryEpoch reads the epoch of the ids of deliveries: see schema.
func deliveryEpoch(q sqlstore.Querier) (epoch uint64, err error) {
	var own bool
	_, err = sqlstore.One(q, `SELECT epoch, EXISTS (SELECT 1 FROM sqlite_schema WHERE name = 'delivery_epoch') FROM totals`, nil, &epoch, &own)
	if err == nil && own {
		_, err = sqlstore.One(q, `SELECT epoch FROM delivery_epoch`, nil, &epoch)
	}
	return epoch, err
}
