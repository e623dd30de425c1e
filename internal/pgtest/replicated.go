package pgtest

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// Pair is a primary server with a standby, which streams what the primary writes.
type Pair struct {
	t                testing.TB
	Primary, Standby *Server
}

// standbyName is the name of the standby in its primary.
const standbyName = "standby"

// Replicated starts a primary with a standby, and waits until the standby streams. If synchronous is
// set, the primary confirms a commit only after the standby has it on its disk: it waits as long as
// the standby is down. config adds lines of configuration to both.
func Replicated(t testing.TB, synchronous bool, config ...string) *Pair {
	t.Helper()
	Need(t)
	config = append([]string{"wal_keep_size 1GB", "wal_retrieve_retry_interval 100ms"}, config...)
	p := &Pair{t: t, Primary: newServer(t, config...)}
	p.Standby = newServer(t, append([]string{fmt.Sprintf(
		"primary_conninfo 'host=127.0.0.1 port=%d user=%s application_name=%s'", p.Primary.i.port, superuser, standbyName)}, config...)...)
	// Both have copies of the same data directory. The standby catches up from there.
	if err := p.Standby.i.follow(); err != nil {
		t.Fatal(err)
	}
	p.Primary.Start()
	p.Standby.Start()
	p.AwaitStandby()
	if synchronous {
		p.Primary.Exec("ALTER SYSTEM SET synchronous_standby_names = '" + standbyName + "'")
		p.Primary.Exec("SELECT pg_reload_conf()")
		p.await("the standby is synchronous", "SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync'")
	}
	return p
}

// follow makes a server that was not started yet a standby.
func (i *Instance) follow() error {
	path := filepath.Join(i.data(), "standby.signal")
	if err := errors.Join(os.WriteFile(path, nil, 0o600), i.home.own(path)); err != nil {
		return fmt.Errorf("pgtest: %w", err)
	}
	return nil
}

// URL returns an address of the primary's own database that names both servers. Clients connect to
// the one that accepts writes.
func (p *Pair) URL() string { return p.url(Role) }

func (p *Pair) url(database string) string {
	return databaseURL(p.Primary.Addr()+","+p.Standby.Addr(), Role, database) + "&target_session_attrs=read-write"
}

// NewDatabase makes an empty database and returns its URL, which names both servers.
func (p *Pair) NewDatabase(t testing.TB) string {
	t.Helper()
	name, err := p.Primary.i.newDatabase()
	if err != nil {
		t.Fatal(err)
	}
	return p.url(name)
}

// AwaitStandby waits until the standby shows all that the primary had written before.
func (p *Pair) AwaitStandby() {
	p.t.Helper()
	p.await("the standby has the primary's data",
		"SELECT count(*) FROM pg_stat_replication WHERE state = 'streaming' AND replay_lsn >= $1::pg_lsn",
		p.Primary.Value("SELECT pg_current_wal_flush_lsn()::text"))
}

// await waits until a query at the primary counts one.
func (p *Pair) await(what, sql string, args ...any) {
	p.t.Helper()
	Until(p.t, readyWithin, what, func() bool { return p.Primary.Value(sql, args...) == int64(1) })
}

// Promote makes the standby accept writes. A primary that still runs accepts them, too, so kill or
// pause it first.
func (p *Pair) Promote() {
	p.t.Helper()
	if p.Standby.Value("SELECT pg_promote()") != true {
		p.t.Fatalf("pgtest: the standby %s was not promoted:\n%s", p.Standby.Addr(), p.Standby.i.logEnd(20))
	}
}
