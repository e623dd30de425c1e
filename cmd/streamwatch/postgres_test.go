package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/streamwatch/streamwatch/fleet"
	"github.com/streamwatch/streamwatch/internal/heard"
	"github.com/streamwatch/streamwatch/internal/pgtest"
)

// A db that is no path is not taken for one, and a password in it is not shown.
func TestPostgresOrAnotherStore(t *testing.T) {
	for db, want := range map[string]string{
		"mysql://me:pw@h/d":            "-db mysql://***@h/d is not allowed: want a SQLite file, or the address of a PostgreSQL",
		"Postgres://me:pw@h/d":         "-db postgres://***@h/d is not allowed: want a SQLite file",
		"postgres:/me:pw@h/d":          "-db *** is not allowed: want a SQLite file",
		"host=h user=me password=pw":   "-db *** is not allowed: want a SQLite file",
		"postgres://me:pw@h/d?schema=": "-db postgres://***@h/d?schema=*** is not allowed: wrong schema: want",
	} {
		for _, args := range []string{"check -platform bluesky", "serve -platform bluesky", "key -owner a", "keys -owner a", "erase -owner a", "credits -owner a -credits 1"} {
			var out bytes.Buffer
			err := run(t.Context(), process{Env: noEnv, Out: &out, Logs: &out}, append(strings.Fields(args), "-db", db))
			if status(err) != 78 || !strings.Contains(err.Error(), want) || strings.Contains(err.Error()+out.String(), "pw") {
				t.Errorf("%s -db %s: status %d, error %v, want %q", args, db, status(err), err, want)
			}
		}
	}
	for text, want := range map[string]string{
		"db: postgres://me:pw@h/d\nplatform: bluesky":                   "store PostgreSQL, postgres://***@h/d, whose servers share the work",
		"db: postgres://me:${PW}@h/d\nplatform: bluesky\npassive: true": "store PostgreSQL, postgres://***@h/d, whose servers share the work",
	} {
		var out bytes.Buffer
		err := run(t.Context(), process{Env: fileEnv, Out: &out, Logs: io.Discard}, []string{"check", "-config", written(t, text)})
		if err != nil || !strings.Contains(strings.Join(strings.Fields(out.String()), " "), want) || strings.Contains(out.String(), "pw") {
			t.Errorf("%s: %v, %s", text, err, &out)
		}
	}
	err := run(t.Context(), process{Env: noEnv, Out: io.Discard, Logs: io.Discard}, strings.Fields("backup -to b.db -db postgresql://me:pw@h/d"))
	if status(err) != 78 || err.Error() != "-db postgresql://***@h/d is not allowed: PostgreSQL makes its own backups, by pg_dump, or pg_basebackup and its archive of the log: want a SQLite file" {
		t.Errorf("backup: status %d, error %v", status(err), err)
	}
}

// A server waits for a PostgreSQL that cannot be reached, and says so once. A command fails.
func TestPostgresThatCannotBeReached(t *testing.T) {
	const away = "postgres://me:pw-secret@127.0.0.1:1/streams"
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	var logs heard.Output
	logs.On("postgres cannot be reached", func() { time.AfterFunc(time.Second*3/2, stop) })
	err := run(ctx, process{Env: noEnv, Out: io.Discard, Logs: &logs}, strings.Fields("serve -platform https://mastodon.example -addr 127.0.0.1:0 -db "+away))
	if err != nil {
		t.Errorf("error %v, want none", err)
	}
	text := logs.String()
	if !strings.Contains(text, `msg="stopped: the store was never reached" store="PostgreSQL, postgres://***@127.0.0.1:1/streams"`) ||
		strings.Contains(text, "pw-secret") || strings.Count(text, "trying again") != 1 || strings.Count(text, "connection refused") != 1 {
		t.Errorf("log %s", text)
	}
	for _, args := range []string{"key -owner a", "keys -owner a", "revoke -owner a -id k", "credits -owner a -credits 5", "erase -owner a"} {
		err := run(t.Context(), process{Env: noEnv, Out: io.Discard, Logs: io.Discard}, append(strings.Fields(args), "-db", away))
		if status(err) != 1 || !strings.HasPrefix(err.Error(), "-db postgres://***@127.0.0.1:1/streams: postgres: failed to connect") ||
			strings.Contains(err.Error(), "pw-secret") || strings.Count(err.Error(), "connection refused") != 1 {
			t.Errorf("%s: status %d, error %v", args, status(err), err)
		}
	}
}

// What a PostgreSQL refuses is an error at once, also of a server, and says what is wanted.
func TestPostgresRefusals(t *testing.T) {
	db := pgtest.Single(t, "fsync off")
	for _, sql := range []string{
		"CREATE ROLE poor LOGIN", "CREATE DATABASE theirs", "CREATE ROLE locked NOLOGIN",
		"CREATE SCHEMA foreigners CREATE TABLE customers (n int)", "GRANT ALL ON SCHEMA foreigners TO " + pgtest.Role,
		"CREATE SCHEMA newer CREATE TABLE schema_version (version int)", "INSERT INTO newer.schema_version VALUES (99)",
		"GRANT USAGE ON SCHEMA newer TO " + pgtest.Role, "GRANT SELECT ON newer.schema_version TO " + pgtest.Role,
	} {
		db.Exec(sql)
	}
	at := func(role, database, schema string) string {
		return fmt.Sprintf("postgres://%s:pw-secret@%s/%s?sslmode=disable&schema=%s", role, db.Addr(), database, schema)
	}
	for address, want := range map[string]string{
		at(pgtest.Role, "none", "s"):                   `database "none" does not exist`,
		at("nobody", pgtest.Role, "s"):                 `role "nobody" does not exist`,
		at("locked", pgtest.Role, "s"):                 `role "locked" is not permitted to log in`,
		at("poor", "theirs", "s"):                      `permission denied for database theirs (SQLSTATE 42501): want a role that may make the schema in the database, or owns it`,
		at(pgtest.Role, pgtest.Role, "foreigners"):     `schema of another program: "foreigners": take another schema, with ?schema=NAME`,
		at(pgtest.Role, pgtest.Role, "newer"):          `version 99 of schema "newer", want 1: take another schema, with ?schema=NAME, or the program of that version`,
		at(pgtest.Role, pgtest.Role, "s") + "&color=1": `unrecognized configuration parameter "color"`,
	} {
		for _, args := range []string{"keys -owner a", "serve -platform https://mastodon.example -addr 127.0.0.1:0"} {
			var logs bytes.Buffer
			err := run(t.Context(), process{Env: noEnv, Out: io.Discard, Logs: &logs}, append(strings.Fields(args), "-db", address))
			if status(err) != 1 || !strings.HasPrefix(err.Error(), "-db postgres://***@") || !strings.Contains(err.Error(), want) || strings.Contains(err.Error()+logs.String(), "pw-secret") {
				t.Errorf("%.5s on %s: status %d, error %v, want %q", args, address, status(err), err, want)
			}
		}
	}
}

// served is a server on a store, in a process of its own: a node is named by its process.
type served struct {
	base string
	cmd  *exec.Cmd
	log  heard.Output
}

// serveOnStore runs a server with a fake platform.
func serveOnStore(t *testing.T, db string, args ...string) *served {
	t.Helper()
	path := written(t, "addr: 127.0.0.1:0\ndrain: 0s\ndb: "+db+"\ninterval: 1s\nsources: [{name: f, kind: fake}]")
	s := &served{cmd: exec.Command(os.Args[0], append([]string{"serve", "-config", path}, args...)...)}
	s.cmd.Stderr, s.cmd.Env = &s.log, append(os.Environ(), asProgram+"=1")
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if s.cmd.ProcessState == nil {
			s.cmd.Process.Kill()
			s.cmd.Wait()
		}
		if t.Failed() {
			t.Logf("the log of %s:\n%s", s.base, &s.log)
		}
	})
	s.base = s.log.Wait(t, `msg=serving address=(\S+)`)[1]
	return s
}

// get makes a request without a key.
func (s *served) get(t *testing.T, path string) (code int, text string) {
	t.Helper()
	resp, err := http.Get(s.base + path)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, _ := io.ReadAll(resp.Body)
	return resp.StatusCode, string(b)
}

// end tells the server to stop, and waits for it.
func (s *served) end(t *testing.T) {
	t.Helper()
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := s.cmd.Wait(); err != nil {
		t.Errorf("end: %v", err)
	}
}

// Servers on a PostgreSQL share the work. Commands work beside them, except one that wants them
// stopped. While the database is away they are not ready, and then they go on.
func TestPostgresServers(t *testing.T) {
	t.Cleanup(http.DefaultClient.CloseIdleConnections)
	server := pgtest.Single(t)
	db := server.NewDatabase(t) + "&schema=of%20servers&connections=6"
	one := serveOnStore(t, db)
	two := serveOnStore(t, db)
	standby := serveOnStore(t, db, "-passive")

	do := func(args string) (string, error) {
		var out bytes.Buffer
		err := run(t.Context(), process{Env: noEnv, Out: &out, Logs: io.Discard}, append(strings.Fields(args), "-db", db))
		return out.String(), err
	}
	must := func(args, want string) string {
		t.Helper()
		out, err := do(args)
		if err != nil || !strings.Contains(out, want) {
			t.Fatalf("%s: %v, %q, want %q", args, err, out, want)
		}
		return out
	}
	key := regexp.MustCompile(`key  (\S+)`).FindStringSubmatch(must("key -owner acme -name laptop -credits 1000", "in   postgres://***@"+server.Addr()))[1]
	must("keys -owner acme", "laptop")
	must("credits -owner acme -credits 500", "acme has 1500 credits")

	// The parts are divided by the two that are not passive.
	awaitParts(t, db, 512, 512, 0)

	// A monitor made through one is polled by whoever has the account; both tell what was found.
	body := `{"name":"m","usernames":["nasa","esa","jaxa","cnsa"],"webhook_url":"https://hooks.example.com/posts"}`
	if code, text := one.ask(t, key, "POST", "/v1/social/stream/monitors", body); code != 201 {
		t.Fatalf("POST: %d %s", code, text)
	}
	for _, s := range []*served{one, two, standby} {
		pgtest.Until(t, 30*time.Second, "events in the log of each server", func() bool {
			code, text := s.ask(t, key, "GET", "/v1/social/stream/logs", "")
			return code == 200 && strings.Contains(text, "nasa")
		})
	}
	if text := must("status -json", `"monitors": 1`); strings.Count(text, `"state": "running"`) != 3 {
		t.Errorf("status: %s, want three servers that run", text)
	}
	if _, err := do("erase -yes -owner acme"); err == nil || !strings.Contains(err.Error(), "of a fleet runs on the store: want all stopped") {
		t.Errorf("erase beside servers: %v", err)
	}

	server.Kill()
	pgtest.Until(t, 30*time.Second, "no server is ready", func() bool {
		code, text := one.get(t, "/readyz")
		return code == 503 && strings.Contains(text, "not ready: ")
	})
	if code, _ := one.get(t, "/livez"); code != 200 {
		t.Errorf("/livez %d while the database is away", code)
	}
	one.log.Wait(t, `level=WARN msg="not ready" .*connect`)
	server.Start()
	for _, s := range []*served{one, two, standby} {
		pgtest.Until(t, 30*time.Second, "all are ready again", func() bool { code, _ := s.get(t, "/readyz"); return code == 200 })
	}

	two.end(t)
	one.end(t)
	awaitParts(t, db, fleet.Parts) // the standby's
	standby.end(t)
	must("erase -yes -owner acme", `"monitors": 1`)
	if _, err := do("erase -yes -owner acme"); err == nil || !strings.Contains(err.Error(), "is not known") {
		t.Errorf("erase again: %v", err)
	}
}

// After a failover a server finds the host that takes writes, and has what was acknowledged.
func TestPostgresFailover(t *testing.T) {
	t.Cleanup(http.DefaultClient.CloseIdleConnections)
	pair := pgtest.Replicated(t, true)
	db := pair.NewDatabase(t)
	s := serveOnStore(t, db)
	var out bytes.Buffer
	if err := run(t.Context(), process{Env: noEnv, Out: &out, Logs: io.Discard}, []string{"key", "-owner", "acme", "-credits", "1000", "-db", db}); err != nil {
		t.Fatal(err)
	}
	key := regexp.MustCompile(`key  (\S+)`).FindStringSubmatch(out.String())[1]
	pair.Primary.Kill()
	pair.Promote()
	pgtest.Until(t, time.Minute, "a monitor is made", func() bool {
		code, _ := s.ask(t, key, "POST", "/v1/social/stream/monitors", `{"name":"m","usernames":["nasa"],"webhook_url":"https://hooks.example.com/posts"}`)
		return code == 201
	})
	pgtest.Until(t, time.Minute, "the server is ready", func() bool { code, _ := s.get(t, "/readyz"); return code == 200 })
	if err := run(t.Context(), process{Env: noEnv, Out: io.Discard, Logs: io.Discard}, []string{"keys", "-owner", "acme", "-db", db}); err != nil {
		t.Errorf("keys: %v", err)
	}
	s.end(t)
}

// ask makes a request with a key.
func (s *served) ask(t *testing.T, key, method, path, body string) (code int, text string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, s.base+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("X-Api-Key", key)
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, _ := io.ReadAll(resp.Body)
	return resp.StatusCode, string(b)
}

// awaitParts waits until the members of the fleet have so many parts, in any order.
func awaitParts(t *testing.T, db string, want ...int) {
	t.Helper()
	address, _, _ := strings.Cut(db, "&schema=of%20servers") // the rest is not the driver's
	conn, err := pgx.Connect(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.WithoutCancel(t.Context()))
	wanted, _ := json.Marshal(want)
	var have string
	pgtest.Until(t, 30*time.Second, fmt.Sprintf("nodes have %v parts", want), func() bool {
		err := conn.QueryRow(t.Context(), "SELECT coalesce(json_agg(bit_count(parts) ORDER BY bit_count(parts) DESC), '[]')::text FROM "+pgx.Identifier{"of servers", "members"}.Sanitize()).Scan(&have)
		return err == nil && strings.ReplaceAll(have, " ", "") == string(wanted)
	})
}
