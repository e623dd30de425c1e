package pgtest

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
)

// Role is the role of the servers' URLs, and the name of the database of Server.URL. It owns its
// databases and is no superuser.
const Role = "streamwatch"

// superuser is the role that Exec and Value run as.
const superuser = "postgres"

// home is what all servers of this process share. It is made for the first.
var home = sync.OnceValues(makeHome)

type homeDir struct {
	dir      string
	user     *owner
	postgres string // the program
	template string // a data directory, to be copied

	mu    sync.Mutex
	guard io.Writer // of the directories that guard looks after
}

func makeHome() (*homeDir, error) {
	user, err := serverUser()
	if err != nil {
		return nil, fmt.Errorf("pgtest: %w", err)
	}
	initdb, err := find("initdb")
	if err != nil {
		return nil, err
	}
	postgres, err := find("postgres")
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp(reachable(os.TempDir(), "/tmp", "/var/tmp"), "streamwatch-pgtest-")
	if err != nil {
		return nil, fmt.Errorf("pgtest: %w", err)
	}
	h := &homeDir{dir: dir, user: user, postgres: postgres, template: filepath.Join(dir, "template")}
	if err := errors.Join(h.own(dir), h.startGuard(), h.makeTemplate(initdb)); err != nil {
		return nil, fmt.Errorf("pgtest: %w", errors.Join(err, os.RemoveAll(dir)))
	}
	return h, nil
}

// reachable returns the first directory that every user can reach, or else the first.
func reachable(dirs ...string) string {
	for _, dir := range dirs {
		if obstacle(dir) == "" {
			return dir
		}
	}
	return dirs[0]
}

// obstacle returns the first directory on the way to dir that only some users may pass, or "".
func obstacle(dir string) string {
	const passable = 0o001
	for ; ; dir = filepath.Dir(dir) {
		info, err := os.Stat(dir)
		if err != nil || info.Mode()&passable == 0 {
			return dir
		}
		if dir == filepath.Dir(dir) {
			return ""
		}
	}
}

// own gives a file to the servers' user.
func (h *homeDir) own(path string) error {
	if h.user == nil {
		return nil
	}
	return os.Chown(path, h.user.uid, h.user.gid)
}

// command returns a command that runs as the servers' user, without this process's settings for
// clients and languages.
func (h *homeDir) command(dir, program string, args ...string) *exec.Cmd {
	cmd := exec.Command(program, args...)
	cmd.Dir = dir
	cmd.Env = []string{"LC_ALL=C"}
	for _, env := range os.Environ() {
		if !strings.HasPrefix(env, "PG") && !strings.HasPrefix(env, "LC_") && !strings.HasPrefix(env, "LANG") {
			cmd.Env = append(cmd.Env, env)
		}
	}
	h.user.runAs(cmd)
	return cmd
}

// makeTemplate makes a data directory with the role and its database. What it holds need not survive
// the machine, so it is not synced to the disk.
func (h *homeDir) makeTemplate(initdb string) error {
	if err := run(h.command(h.dir, initdb, "-D", h.template, "-U", superuser, "--auth=trust", "--no-sync", "--no-instructions",
		"--encoding=UTF8", "--locale=C.UTF-8", "--locale-provider=icu", "--icu-locale=en-US")); err != nil {
		return err
	}
	sql := h.command(h.dir, h.postgres, "--single", "-F", "-D", h.template, "postgres")
	sql.Stdin = strings.NewReader("CREATE ROLE " + Role + " LOGIN\nCREATE DATABASE " + Role + " OWNER " + Role + "\n")
	if err := run(sql); err != nil {
		return err
	}
	conf, err := os.OpenFile(filepath.Join(h.template, "postgresql.conf"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(conf, "include '%s'\n", configFile)
	return errors.Join(err, conf.Close())
}

func run(cmd *exec.Cmd) error {
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", cmd.Path, err, out)
	}
	return nil
}

// guard is a shell that cleans up after this process, however that ends. A paused server must
// continue before it can end.
const guard = `
home=$1
shift
while read -r dir; do set -- "$@" "$dir"; done
for dir; do
	[ -e "$dir/postmaster.pid" ] || continue
	pid=$(head -n 1 "$dir/postmaster.pid")
	kill -CONT $(cat "/proc/$pid/task/$pid/children") "$pid" # and wait for 10 s
	tries=100
	while kill -0 "$pid" && [ $tries -gt 0 ]; do sleep 0.1; tries=$((tries-1)); done
	segment=$(sed -n '7s/.* //p' "$dir/postmaster.pid") # of a server that was killed
	[ -z "$segment" ] || ipcrm -m "$segment"
done
rm -rf "$home"
`

// startGuard starts the guard, which waits until its input ends.
func (h *homeDir) startGuard() error {
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	cmd := exec.Command("sh", "-c", guard, "sh", h.dir)
	cmd.Dir = "/"
	cmd.Stdin = r
	detach(cmd)
	h.guard = w
	return errors.Join(cmd.Start(), r.Close())
}

// look has the guard look after a data directory.
func (h *homeDir) look(dir string) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	_, err := fmt.Fprintln(h.guard, dir)
	return err
}

// release frees the shared memory of a killed server, which a restart would have found.
func release(data string) error {
	text, err := os.ReadFile(filepath.Join(data, "postmaster.pid"))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	lines := strings.Split(string(text), "\n")
	if len(lines) < 7 {
		return nil
	}
	if ids := strings.Fields(lines[6]); len(ids) == 2 {
		return run(exec.Command("ipcrm", "-m", ids[1]))
	}
	return nil
}
