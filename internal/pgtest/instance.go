package pgtest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
)

const (
	readyWithin = 30 * time.Second // the maximum time in which a started server must answer
	execWithin  = 30 * time.Second // the maximum time of a statement of Exec and Value
	configFile  = "pgtest.conf"
)

// Instance is a server of a program, whose methods return errors. Tests have Server. One goroutine at
// a time may call its methods, except URL, NewDatabase, Exec and Value, which any may call.
type Instance struct {
	home      *homeDir
	dir       string // with the data directory and the log
	temporary bool
	port      int
	process   process
	databases atomic.Int64
}

// Start starts a server that keeps its data and its log in dir, which is made if it does not exist.
// If it has data of an earlier server, the server starts with that. If dir is "", the server has a
// directory of its own until Close. Lines of configuration may be added.
//
// If this process is root, every user must be able to reach dir, because the server is not root. The
// error is ErrNone if PostgreSQL is not installed.
func Start(dir string, config ...string) (*Instance, error) {
	i, err := newInstance(dir, config...)
	if err != nil {
		return nil, err
	}
	if err := i.Start(); err != nil {
		return nil, errors.Join(err, i.Close())
	}
	return i, nil
}

// newInstance makes a server without starting it.
func newInstance(dir string, config ...string) (*Instance, error) {
	h, err := home()
	if err != nil {
		return nil, err
	}
	i := &Instance{home: h, dir: dir, temporary: dir == ""}
	if err := i.prepare(config); err != nil {
		if i.temporary {
			err = errors.Join(err, os.RemoveAll(i.dir))
		}
		return nil, fmt.Errorf("pgtest: %w", err)
	}
	return i, nil
}

func (i *Instance) prepare(config []string) (err error) {
	if i.temporary {
		i.dir, err = os.MkdirTemp(i.home.dir, "server")
	} else if i.dir, err = filepath.Abs(i.dir); err == nil {
		err = os.MkdirAll(i.dir, 0o755)
	}
	if err != nil {
		return err
	}
	if at := obstacle(filepath.Dir(i.dir)); !i.temporary && i.home.user != nil && at != "" {
		return fmt.Errorf("the server, which is not root, cannot reach %s: chmod a+x %s", i.dir, at)
	}
	if err := i.home.own(i.dir); err != nil {
		return err
	}
	if _, err := os.Stat(i.data()); errors.Is(err, os.ErrNotExist) {
		if err := run(exec.Command("cp", "-a", i.home.template, i.data())); err != nil {
			return err
		}
	}
	if i.port, err = freePort(); err != nil {
		return err
	}
	lines := append([]string{
		"listen_addresses '127.0.0.1'", fmt.Sprintf("port %d", i.port), "unix_socket_directories ''",
		"dynamic_shared_memory_type mmap",  // files of the data directory: a killed server leaves them
		"recovery_init_sync_method syncfs", // a call instead of one a file, some thousand, after each kill
	}, config...)
	path := filepath.Join(i.data(), configFile)
	if err := os.WriteFile(path, []byte(strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
		return err
	}
	return errors.Join(i.home.own(path), i.home.look(i.data()))
}

func (i *Instance) data() string    { return filepath.Join(i.dir, "data") }
func (i *Instance) logFile() string { return filepath.Join(i.dir, "server.log") }

// Addr returns the server's address, which does not change when it restarts.
func (i *Instance) Addr() string { return fmt.Sprintf("127.0.0.1:%d", i.port) }

// URL returns the address of the server's own database, which is called Role.
func (i *Instance) URL() string { return i.url(Role, Role) }

func (i *Instance) url(role, database string) string { return databaseURL(i.Addr(), role, database) }

func databaseURL(addr, role, database string) string {
	return fmt.Sprintf("postgres://%s@%s/%s?sslmode=disable", role, addr, database)
}

// Start starts a server that is down, and waits until it answers and has recovered its data.
func (i *Instance) Start() error {
	if err := i.Launch(); err != nil {
		return err
	}
	if err := i.process.answers(i.url(superuser, "postgres")); err != nil {
		return fmt.Errorf("pgtest: the server %s does not answer: %w\n%s", i.Addr(), err, i.logEnd(20))
	}
	return nil
}

// Launch starts a server that is down, without waiting. For a while it refuses connections, or says
// that it is starting up.
func (i *Instance) Launch() error {
	if i.process.alive() {
		return fmt.Errorf("pgtest: the server %s runs already", i.Addr())
	}
	log, err := os.OpenFile(i.logFile(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return fmt.Errorf("pgtest: %w", err)
	}
	defer log.Close()
	cmd := i.home.command(i.dir, i.home.postgres, "-D", i.data())
	cmd.Stdout, cmd.Stderr = log, log
	bind(cmd, immediateSignal) // kill -9 would let its children finish their work
	if err := i.process.start(cmd); err != nil {
		return fmt.Errorf("pgtest: %w", err)
	}
	return nil
}

// Kill ends the server with kill -9, all its processes, and returns when they have ended. The data
// stays.
func (i *Instance) Kill() error { return i.named(i.process.kill()) }

// Stop ends the server in order: it aborts what its clients do, and syncs its data.
func (i *Instance) Stop() error { return i.named(i.process.end(fastSignal)) }

// Restart kills the server and starts it with its data.
func (i *Instance) Restart() error {
	if err := i.Kill(); err != nil {
		return err
	}
	return i.Start()
}

// Pause stops all processes of the server like a machine that hangs: connections stay open but get
// no answer. Resume lets them continue.
func (i *Instance) Pause() error { return i.named(i.process.pause()) }

// Resume lets a paused server continue.
func (i *Instance) Resume() error { return i.named(i.process.resume()) }

// Close ends the server, and frees all that it has. A directory given to Start stays.
func (i *Instance) Close() error {
	err := errors.Join(i.process.end(immediateSignal), release(i.data()))
	if i.temporary {
		err = errors.Join(err, os.RemoveAll(i.dir))
	}
	return i.named(err)
}

func (i *Instance) named(err error) error {
	if err != nil {
		return fmt.Errorf("pgtest: the server %s: %w", i.Addr(), err)
	}
	return nil
}

// NewDatabase makes an empty database on the server, which keeps it, and returns its URL.
func (i *Instance) NewDatabase() (string, error) {
	name, err := i.newDatabase()
	if err != nil {
		return "", err
	}
	return i.url(Role, name), nil
}

func (i *Instance) newDatabase() (name string, err error) {
	name = fmt.Sprintf("test%d", i.databases.Add(1))
	return name, i.Exec("CREATE DATABASE " + name + " OWNER " + Role + " TEMPLATE template0")
}

// Exec runs a statement as superuser in the server's own database.
func (i *Instance) Exec(sql string, args ...any) error {
	ctx, cancel := context.WithTimeout(context.Background(), execWithin)
	defer cancel()
	return i.statement(sql, with(ctx, i.url(superuser, Role), func(conn *pgx.Conn) error {
		_, err := conn.Exec(ctx, sql, args...)
		return err
	}))
}

// Value returns the only value of the only row of a query, as superuser in the server's own database.
func (i *Instance) Value(sql string, args ...any) (v any, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), execWithin)
	defer cancel()
	return v, i.statement(sql, with(ctx, i.url(superuser, Role), func(conn *pgx.Conn) error {
		return conn.QueryRow(ctx, sql, args...).Scan(&v)
	}))
}

func (i *Instance) statement(sql string, err error) error {
	if err != nil {
		return fmt.Errorf("pgtest: the server %s: %q: %w", i.Addr(), sql, err)
	}
	return nil
}

// with runs f with a connection of its own, since those of before a restart are broken.
func with(ctx context.Context, url string, f func(*pgx.Conn) error) error {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	return f(conn)
}

// answers waits until the process, just started, answers.
func (p *process) answers(url string) error {
	ends := time.Now().Add(readyWithin)
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	err := ping(url)
	for ; err != nil && p.alive() && time.Now().Before(ends); err = ping(url) {
		<-tick.C
	}
	return err
}

func ping(url string) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	return with(ctx, url, func(conn *pgx.Conn) error { return conn.Ping(ctx) })
}

// logEnd returns the last lines of the server's log.
func (i *Instance) logEnd(lines int) string { return lastLines(i.logFile(), lines) }

func lastLines(file string, lines int) string {
	text, err := os.ReadFile(file)
	if err != nil {
		return err.Error()
	}
	all := strings.Split(strings.TrimSpace(string(text)), "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}
