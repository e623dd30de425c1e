package pgtest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func connect(t *testing.T, url string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	must(t, err)
	t.Cleanup(func() { conn.Close(context.Background()) })
	return conn
}

func TestNeed(t *testing.T) {
	t.Setenv("STREAMWATCH_POSTGRES", "1")
	t.Setenv("STREAMWATCH_POSTGRES_BIN", t.TempDir())
	for _, required := range []bool{false, true} {
		if why := lacking(required, "initdb"); why == "" {
			t.Errorf("required %v: the directory has no program, and nothing is lacking", required)
		}
	}
	if _, err := find("initdb"); !errors.Is(err, ErrNone) {
		t.Errorf("a program that is missing: %v, want ErrNone", err)
	}
	t.Setenv("STREAMWATCH_POSTGRES", "")
	if why := lacking(false); why == "" {
		t.Error("nothing asks for real servers, and nothing is lacking")
	}
}

func TestSingle(t *testing.T) {
	s := Single(t, "work_mem 5MB")
	for setting, want := range map[string]any{"fsync": "on", "synchronous_commit": "on", "work_mem": "5MB"} {
		if got := s.Value("SELECT current_setting($1)", setting); got != want {
			t.Errorf("%s is %v, want %v", setting, got, want)
		}
	}
	conn := connect(t, s.URL())
	_, err := conn.Exec(t.Context(), "CREATE TABLE kept (v text)")
	must(t, err)
	_, err = conn.Exec(t.Context(), "INSERT INTO kept VALUES ('v')")
	must(t, err)

	s.Pause()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	paused, err := pgx.Connect(ctx, s.URL())
	if err == nil || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a paused server: %v, %v, want no answer in time", paused, err)
	}
	s.Resume()
	must(t, conn.Ping(t.Context()))

	for _, end := range []struct {
		name string
		end  func()
	}{{"killed", s.Kill}, {"stopped", s.Stop}} {
		end.end()
		end.end() // changes nothing
		if err := conn.Ping(t.Context()); err == nil {
			t.Errorf("a %s server answered", end.name)
		}
		s.Launch()
		Until(t, readyWithin, "the server answers", func() bool { return ping(s.URL()) == nil })
		if got := s.Value("SELECT v FROM kept"); got != "v" {
			t.Errorf("after it was %s the server has %v", end.name, got)
		}
		conn = connect(t, s.URL())
	}
	s.Restart()
	if got := s.Value("SELECT v FROM kept"); got != "v" {
		t.Errorf("after a restart the server has %v", got)
	}
}

func TestNewDatabase(t *testing.T) {
	s := Single(t)
	a, b := s.NewDatabase(t), s.NewDatabase(t)
	for _, url := range []string{s.URL(), a, b} {
		conn := connect(t, url)
		_, err := conn.Exec(t.Context(), "CREATE TABLE own (v text)")
		must(t, err)
		var super, inOrder bool
		must(t, conn.QueryRow(t.Context(), "SELECT rolsuper, 'a' < 'B' FROM pg_roles WHERE rolname = current_user").Scan(&super, &inOrder))
		if super || !inOrder {
			t.Errorf("%s: superuser %v, sorts as English %v, want false, true", url, super, inOrder)
		}
	}
}

// A server that is killed takes its backends along, in whatever they do.
func TestKillEndsBackends(t *testing.T) {
	s := Single(t)
	conn := connect(t, s.URL())
	ended := make(chan error)
	go func() {
		_, err := conn.Exec(t.Context(), "SELECT count(*) FROM generate_series(1, 1000000000)")
		ended <- err
	}()
	Until(t, readyWithin, "the query runs", func() bool {
		return s.Value("SELECT count(*) FROM pg_stat_activity WHERE state = 'active' AND usename = $1", Role) == int64(1)
	})
	s.Kill()
	if err := <-ended; err == nil {
		t.Error("a query of a killed server has ended well")
	}
	s.Start()
}

// A paused server ends with its process, even with kill -9, and leaves nothing.
func TestEndsWithTheProcess(t *testing.T) {
	Need(t)
	if os.Getenv("PGTEST_TO_BE_KILLED") == "1" {
		s := Single(t)
		s.Pause()
		fmt.Printf("%s %d\n", s.i.home.dir, s.i.process.main.Pid)
		select {}
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestEndsWithTheProcess$")
	cmd.Env = append(os.Environ(), "PGTEST_TO_BE_KILLED=1")
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	var dir string
	var pid int
	_, err = fmt.Fscanln(out, &dir, &pid)
	cmd.Process.Kill()
	cmd.Wait()
	must(t, err)
	Until(t, readyWithin, "the server has ended", func() bool {
		state, _, ok := stat(pid)
		return !ok || strings.Contains(dead, state)
	})
	Until(t, readyWithin, dir+" is removed", func() bool {
		_, err := os.Stat(dir)
		return errors.Is(err, os.ErrNotExist)
	})
}

func TestStartInADirectory(t *testing.T) {
	Need(t)
	dir, err := os.MkdirTemp("", "pgtest")
	must(t, err)
	defer os.RemoveAll(dir)
	must(t, os.Chmod(dir, 0o711))
	for _, want := range []string{"", "yes"} {
		i, err := Start(dir+"/server", "fsync off")
		must(t, err)
		must(t, i.Exec("CREATE TABLE IF NOT EXISTS kept (v text)"))
		got, err := i.Value("SELECT coalesce((SELECT v FROM kept), '')")
		must(t, err)
		if got != want {
			t.Errorf("the server has %q, want %q", got, want)
		}
		must(t, i.Exec("INSERT INTO kept VALUES ('yes')"))
		must(t, i.Close())
	}
	must(t, os.Chmod(dir, 0o700))
	if i, err := Start(dir + "/server"); os.Geteuid() == 0 && (err == nil || !strings.Contains(err.Error(), "chmod a+x "+dir)) {
		t.Errorf("in a directory that the server cannot reach: %v, %v", i, err)
	} else if err == nil {
		must(t, i.Close())
	}
}
