package postgres

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/streamwatch/streamwatch/internal/crashpoint"
	"github.com/streamwatch/streamwatch/internal/transfer"
	"github.com/streamwatch/streamwatch/storage/internal/calls"
	"github.com/streamwatch/streamwatch/storage/internal/serverclock"
	"github.com/streamwatch/streamwatch/storage/internal/sqlstore"
)

const (
	schemaVersion = 1
	oldestServer  = 150000 // server_version_num
)

//go:embed schema.sql
var schema string

// Limits of the sessions. An engine waits 5 s for a call. What a stopped process has locked must be
// free before that, and long before the lease of its term is over.
const (
	statementTimeout = 4 * time.Second
	searchTimeout    = 30 * time.Second // of slow queries
	lockTimeout      = 3 * time.Second
	idleTimeout      = 4 * time.Second // of a transaction without a statement
)

// Open opens the store at a URL or DSN, such as postgres://user@host:5432/database, in the schema
// opts.Schema, and makes the tables if there are none. For a primary and standbys, the URL has all
// hosts, and only one that takes writes is used. It may lead to PgBouncer in transaction mode.
//
// Open refuses a server older than 15 with ErrServer, and tables that it cannot read with ErrVersion
// or ErrForeign. When ctx ends, Open fails; an opened store is not affected.
func Open(ctx context.Context, url string, opts Options) (*Store, error) {
	config, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, wrap(err) // without the password
	}
	return open(ctx, config, opts)
}

// OpenPool is Open with the settings of the connections of a pool. The store has its own
// connections, because it needs its own settings of the sessions, and does not wait for others.
func OpenPool(ctx context.Context, pool *pgxpool.Pool, opts Options) (*Store, error) {
	return open(ctx, pool.Config(), opts)
}

func open(ctx context.Context, config *pgxpool.Config, opts Options) (_ *Store, err error) {
	s := &Store{config: config, calls: calls.New(ErrClosed)}
	if opts.Now == nil {
		s.clock = serverclock.New()
		opts.Now = s.clock.Now
	}
	if s.opts, err = opts.withDefaults(); err != nil {
		return nil, err
	}
	check := config.ConnConfig.ValidateConnect
	if check == nil {
		check = pgconn.ValidateConnectTargetSessionAttrsReadWrite
	}
	config.ConnConfig.ValidateConnect = func(ctx context.Context, conn *pgconn.PgConn) (err error) {
		defer func() {
			if recover() != nil { // pgx 5.13 reads the first row of an answer that may have none
				err = errors.New("the server did not say whether it takes writes")
			}
		}()
		return check(ctx, conn)
	}
	s.roles = &sqlstore.Store{Backend: backend{s}, Dialect: dialect, Name: "postgres", Now: s.opts.Now, Retention: s.opts.Retention}
	s.removal.Removal = sqlstore.Removal{Store: s.roles, IDRetention: s.opts.IDRetention, EntryRetention: s.opts.EntryRetention, Few: sqlstore.RemoveStep}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.disconnect())
		}
	}()
	if err := s.look(ctx); err != nil {
		return nil, err
	}
	for _, pool := range []struct {
		to      **pgxpool.Pool
		size    int
		timeout time.Duration
	}{
		{&s.writes, s.opts.Connections / 2, statementTimeout}, {&s.reads, s.opts.Connections / 4, statementTimeout},
		{&s.searches, s.opts.Connections / 4, searchTimeout},
	} {
		if opts.use != 0 { // no engine waits
			pool.timeout = searchTimeout
		}
		own := config.Copy()
		own.MaxConns, own.MinConns, own.MinIdleConns = int32(pool.size), 0, 0
		s.setUp(own, pool.timeout)
		if *pool.to, err = pgxpool.NewWithConfig(ctx, own); err != nil {
			return nil, wrap(err)
		}
	}
	err = backend{s}.Read(ctx, func(q sqlstore.Querier) error {
		_, err := sqlstore.One(q, `SELECT delivery_epoch FROM totals`, nil, &s.roles.DeliveryEpoch)
		return err
	})
	if err != nil {
		return nil, err
	}
	s.sender = startSender(s.notify)
	return s, nil
}

// setting returns a statement that sets up a session, or a transaction. Short statements go by
// indexes, and are planned once: a plan that was made while tables were small would otherwise read
// them whole until they are analyzed.
func (s *Store) setting(timeout time.Duration, local bool) string {
	millis := func(d time.Duration) string { return fmt.Sprint(d.Milliseconds()) }
	var parts []string
	settings := map[string]string{
		"search_path": pgx.Identifier{s.opts.Schema}.Sanitize(), "synchronous_commit": string(s.opts.Durability),
		"bytea_output": "hex", "jit": "off", "max_parallel_workers_per_gather": "0", // they cost more than a page
		"statement_timeout": millis(timeout), "lock_timeout": millis(lockTimeout), "idle_in_transaction_session_timeout": millis(idleTimeout),
	}
	if timeout == statementTimeout {
		settings["enable_seqscan"], settings["plan_cache_mode"] = "off", "force_generic_plan"
	}
	for name, value := range settings {
		parts = append(parts, fmt.Sprintf("set_config('%s', '%s', %t)", name, strings.ReplaceAll(value, "'", "''"), local))
	}
	return "SELECT " + strings.Join(parts, ", ")
}

// setUp prepares a configuration of connections. Through a pooler, which shares connections between
// transactions, there are no prepared statements and no settings of the session.
func (s *Store) setUp(c *pgxpool.Config, timeout time.Duration) {
	if s.local != "" {
		c.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeExec
		return
	}
	set, first := s.setting(timeout, false), c.AfterConnect
	c.AfterConnect = func(ctx context.Context, conn *pgx.Conn) error { // as parameters of the connection a pooler would refuse them
		if first != nil {
			if err := first(ctx, conn); err != nil {
				return err
			}
		}
		_, err := conn.Exec(ctx, set)
		return err
	}
}

// look connects once, to look at the server and at what is between, and makes the tables.
func (s *Store) look(ctx context.Context) error {
	conn, err := s.dial(ctx)
	if err != nil {
		return wrap(err)
	}
	defer hangUp(conn)
	var version int
	if err := conn.QueryRow(ctx, `SELECT current_setting('server_version_num')::int`).Scan(&version); err != nil {
		return wrap(err)
	}
	if version < oldestServer {
		return fmt.Errorf("%w: PostgreSQL %d, want 15 or later", ErrServer, version/10000)
	}
	if s.listens, err = s.heard(ctx, conn); err != nil {
		return wrap(err)
	}
	if !s.listens {
		s.opts.Logger.Info("postgres: a pooler carries no notifications: nodes look for changes every second", "addr", s.config.ConnConfig.Host)
		s.local = s.setting(statementTimeout, true)
	}
	return s.migrate(ctx, conn)
}

// migrate makes the schema and its tables if there are none. Several processes may do so at a time.
func (s *Store) migrate(ctx context.Context, conn *pgx.Conn) error {
	name := pgx.Identifier{s.opts.Schema}.Sanitize()
	there, err := exists(ctx, conn, "to_regclass", name+".schema_version")
	switch {
	case err != nil || there:
	case s.opts.use == transfer.Source:
		return fmt.Errorf("postgres: %w: schema %q", transfer.ErrMissing, s.opts.Schema)
	default:
		err = pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error { return s.makeTables(ctx, tx, name) })
		crashpoint.Hit("postgres.schema.committed")
	}
	var version int
	if err == nil {
		err = conn.QueryRow(ctx, "SELECT version FROM "+name+".schema_version").Scan(&version)
	}
	s.unfinished = err == nil && version == -schemaVersion
	switch {
	case s.unfinished && s.opts.use == transfer.Target:
	case s.unfinished:
		err = errUnfinished
	case err == nil && version != schemaVersion:
		err = fmt.Errorf("%w: version %d of schema %q, want %d", ErrVersion, version, s.opts.Schema, schemaVersion)
	}
	return wrap(err)
}

// exists reports whether a function that looks for a name finds it.
func exists(ctx context.Context, q interface {
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}, function, name string) (is bool, err error) {
	err = q.QueryRow(ctx, "SELECT "+function+"($1) IS NOT NULL", name).Scan(&is)
	return is, err
}

func (s *Store) makeTables(ctx context.Context, tx pgx.Tx, name string) error {
	// Not a lock of a row, because there is none yet.
	if _, err := tx.Exec(ctx, `SELECT pg_advisory_xact_lock(hashtextextended('streamwatch schema ' || $1::text, 0))`, s.opts.Schema); err != nil {
		return err
	}
	if made, err := exists(ctx, tx, "to_regclass", name+".schema_version"); made || err != nil {
		return err
	}
	there, err := exists(ctx, tx, "to_regnamespace", name)
	if err != nil {
		return err
	}
	if !there { // a role that may not make schemas may have been given one
		if _, err := tx.Exec(ctx, "CREATE SCHEMA "+name); err != nil {
			return err
		}
	}
	var tables int
	if err := tx.QueryRow(ctx, `SELECT count(*) FROM pg_class WHERE relnamespace = to_regnamespace($1)`, name).Scan(&tables); err != nil {
		return err
	}
	if tables > 0 {
		return fmt.Errorf("%w: %q", ErrForeign, s.opts.Schema)
	}
	if _, err := tx.Conn().PgConn().Exec(ctx, "SET LOCAL search_path = "+name+";\n"+schema).ReadAll(); err != nil {
		return err
	}
	crashpoint.Hit("postgres.schema.script")
	s.opts.Logger.Info("postgres: makes the tables", "schema", s.opts.Schema)
	return nil
}
