package postgres

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/streamwatch/streamwatch/fleet"
)

// signals implements fleet.Signals with LISTEN and NOTIFY. A notification carries a signal in JSON.
type signals struct{ s *Store }

// channel returns the name of the channel, which is one of the database.
func (s *Store) channel() string { return fmt.Sprintf("streamwatch_%016x", fleet.Hash(s.opts.Schema)) }

// Send implements fleet.Signals. It leaves the signal to the store's sender.
func (g signals) Send(ctx context.Context, sig fleet.Signal) error {
	return g.s.calls.Wait(ctx, func(ctx context.Context) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		return g.s.sender.add(sig)
	})
}

// notify sends payloads of the channel. The transaction does not wait for the disk, because it
// holds a lock of all that notify in any database.
func (s *Store) notify(ctx context.Context, payloads []string) error {
	_, err := s.reads.Exec(ctx, "SELECT set_config('synchronous_commit', 'off', true), pg_notify($1, p) FROM unnest($2::text[]) p", s.channel(), payloads)
	return err
}

const (
	// quiet is how long a connection may be without a message before it is pinged, and how long
	// the answer may then take.
	quiet = 3 * time.Second
	// looks is the time between the signals of a Receive that has no LISTEN.
	looks = time.Second
)

// Receive implements fleet.Signals. It has a connection of its own. When that breaks, it connects
// again after 50 ms, and after up to 1 s if that fails repeatedly. Behind a pooler that does not
// carry notifications it calls fn with a SignalLook every second.
func (g signals) Receive(ctx context.Context, fn func(fleet.Signal)) error {
	return g.s.calls.Wait(ctx, func(ctx context.Context) error {
		const shortest, longest = 50 * time.Millisecond, time.Second
		wait, missed := shortest, false
		for ctx.Err() == nil {
			if !g.s.listens {
				wait = looks
			} else if heard := g.listen(ctx, missed, fn); heard {
				wait = shortest
			}
			missed = true
			select {
			case <-ctx.Done():
			case <-time.After(wait):
				wait = min(2*wait, longest)
				if !g.s.listens {
					fn(fleet.Signal{Kind: fleet.SignalLook})
				}
			}
		}
		return ctx.Err()
	})
}

// listen calls fn for each signal until the connection breaks. If missed is set, signals may have
// been missed: it first calls fn with a SignalLook. heard reports whether it was connected.
func (g signals) listen(ctx context.Context, missed bool, fn func(fleet.Signal)) (heard bool) {
	conn, err := g.s.listener(ctx)
	if err != nil {
		return false
	}
	defer hangUp(conn)
	if missed {
		fn(fleet.Signal{Kind: fleet.SignalLook})
	}
	for {
		n, err := await(ctx, conn, quiet)
		if n == nil && err == nil { // quiet
			within, cancel := context.WithTimeout(ctx, quiet)
			err = conn.Ping(within)
			cancel()
		}
		if err != nil || ctx.Err() != nil {
			return true
		}
		var sig fleet.Signal
		if n != nil && json.Unmarshal([]byte(n.Payload), &sig) == nil {
			fn(sig)
		}
	}
}

// listener connects and executes LISTEN.
func (s *Store) listener(ctx context.Context) (*pgx.Conn, error) {
	within, cancel := context.WithTimeout(ctx, 2*quiet)
	defer cancel()
	conn, err := s.dial(within)
	if err != nil {
		return nil, err
	}
	if _, err := conn.Exec(within, "LISTEN "+pgx.Identifier{s.channel()}.Sanitize()); err != nil {
		hangUp(conn)
		return nil, err
	}
	return conn, nil
}

// await returns the next notification, or nil if none comes within d.
func await(ctx context.Context, conn *pgx.Conn, d time.Duration) (*pgconn.Notification, error) {
	within, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	n, err := conn.WaitForNotification(within)
	if err != nil && ctx.Err() == nil && within.Err() != nil && !conn.IsClosed() {
		return nil, nil
	}
	return n, err
}

// hangUp closes a connection, without regard to whether the server is there.
func hangUp(conn *pgx.Conn) {
	ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
	defer cancel()
	_ = conn.Close(ctx)
}

// heard reports whether a connection that listens gets what another one sends. PgBouncer in
// transaction mode accepts LISTEN, but passes nothing on; and while it has few clients,
// pg_listening_channels shows the channel.
func (s *Store) heard(ctx context.Context, other *pgx.Conn) (bool, error) {
	conn, err := s.listener(ctx)
	if err != nil {
		return false, err
	}
	defer hangUp(conn)
	const tries = 4
	for range tries {
		if _, err := other.Exec(ctx, "SELECT pg_notify($1, '')", s.channel()); err != nil {
			return false, err
		}
		if n, err := await(ctx, conn, looks/tries); n != nil || err != nil {
			return n != nil, err
		}
	}
	return false, nil
}
