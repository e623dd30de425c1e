package stores

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/streamwatch/streamwatch/storage"
	"github.com/streamwatch/streamwatch/storage/postgres"
)

// wantPostgres says which addresses of PostgreSQL are allowed.
const wantPostgres = "want postgres:// or postgresql://[user:password@]host[:port]/database, of a primary and its standbys with host:port,host:port; " +
	"then parameters such as ?sslmode=verify-full, or ?schema=NAME of at most 63 bytes, or ?connections=N of 4 to 1000"

// postgresOptions returns the address for the driver, and what its parameters schema and connections
// set, which are not the driver's. The error contains no user and no password.
func postgresOptions(raw string) (address string, o postgres.Options, err error) {
	address, query, _ := strings.Cut(raw, "?")
	var rest, wrong []string
	patient := true
	for pair := range strings.SplitSeq(query, "&") {
		switch key, value, _ := strings.Cut(pair, "="); key {
		case "schema":
			name, err := url.PathUnescape(value)
			if err != nil || name == "" || len(name) > 63 || o.Schema != "" {
				wrong = append(wrong, "schema")
			}
			o.Schema = name
		case "connections":
			n, err := strconv.Atoi(value)
			if err != nil || n < 4 || n > 1000 || o.Connections != 0 {
				wrong = append(wrong, "connections")
			}
			o.Connections = n
		case "":
		default:
			rest, patient = append(rest, pair), patient && key != "connect_timeout"
		}
	}
	if patient { // the driver waits two minutes for a server that does not answer
		rest = append(rest, fmt.Sprintf("connect_timeout=%d", int(connectWithin.Seconds())))
	}
	if u, err := url.Parse(address); err == nil && u.User == nil && strings.Contains(address, "@") {
		wrong = append(wrong, "user or password, in which / is %2F and @ is %40")
	}
	address += "?" + strings.Join(rest, "&")
	why := ""
	if len(wrong) > 0 {
		why = ": wrong " + strings.Join(wrong, " and ")
	} else if _, err := pgxpool.ParseConfig(address); err == nil {
		return address, o, nil
	} else if _, reason, ok := strings.Cut(err.Error(), "`: "); ok && !strings.Contains(reason, "parse as URL") {
		why = ": " + reason // does not quote the password, as it may if it is not clear where that is
	}
	return "", o, fmt.Errorf("%s is not allowed%s: %s", redacted(raw), why, wantPostgres)
}

const (
	connectWithin  = 5 * time.Second // to one host, unless the address says otherwise
	betweenReaches = time.Second
)

// openPostgres opens a store on PostgreSQL.
func openPostgres(ctx context.Context, a Address, opts Options) (storage.Store, error) {
	address, o, err := postgresOptions(string(a))
	if err != nil {
		return nil, err
	}
	o.Logger = opts.Logger
	logged := ""
	for {
		store, err := postgres.Open(ctx, address, o)
		if err == nil {
			return store, nil
		}
		err = inPlainWords(err)
		if !opts.Waits || !mayBeReached(err) || ctx.Err() != nil {
			return nil, err
		}
		if text := err.Error(); text != logged {
			logged = text
			o.Logger.Warn("postgres cannot be reached: trying again", "store", a.String(), "error", err)
		}
		select {
		case <-ctx.Done():
			return nil, err
		case <-time.After(betweenReaches):
		}
	}
}

// mayBeReached reports whether an error of Open may pass: there is no connection yet, and no server
// has refused the user or the database.
func mayBeReached(err error) bool {
	if !errors.As(err, new(*pgconn.ConnectError)) {
		return false
	}
	var refused *pgconn.PgError
	return !errors.As(err, &refused) || slices.Contains([]string{cannotConnectNow, tooManyConnections, adminShutdown, crashShutdown}, refused.Code)
}

// Codes of errors: https://www.postgresql.org/docs/current/errcodes-appendix.html.
const (
	adminShutdown      = "57P01"
	crashShutdown      = "57P02"
	cannotConnectNow   = "57P03"
	tooManyConnections = "53300"
	notPermitted       = "42501"
)

// inPlainWords adds to an error of Open what is wanted, and puts it on one line.
func inPlainWords(err error) error {
	lines := strings.FieldsFunc(err.Error(), func(r rune) bool { return r == '\n' || r == '\t' })
	text := strings.Join(slices.Compact(lines), " ") // the driver tries a host with TLS and without
	var refused *pgconn.PgError
	switch {
	case errors.Is(err, postgres.ErrVersion):
		text += ": take another schema, with ?schema=NAME, or the program of that version"
	case errors.Is(err, postgres.ErrForeign):
		text += ": take another schema, with ?schema=NAME"
	case errors.As(err, &refused) && refused.Code == notPermitted:
		text += ": want a role that may make the schema in the database, or owns it"
	}
	return reworded{err, text}
}
