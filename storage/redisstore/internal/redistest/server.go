package redistest

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// readyWithin is the maximum time in which a started server must answer.
const readyWithin = 20 * time.Second

// Server is a redis-server or redis-sentinel process. Call its methods on the test's goroutine,
// except Addr and Client, which may be called on any.
type Server struct {
	t       testing.TB
	program string
	port    int
	dir     string // working directory, with its configuration, data and log
	client  *redis.Client

	mu      sync.Mutex
	process *os.Process   // nil while it is down
	ended   chan struct{} // closed when process has ended and was waited for
}

// Single starts a server without replicas. config adds lines of configuration, for example
// "appendfsync always" or "maxmemory 20mb".
func Single(t testing.TB, config ...string) *Server {
	t.Helper()
	Need(t)
	return startServer(t, config...)
}

func startServer(t testing.TB, config ...string) *Server {
	t.Helper()
	port := freePort(t)
	lines := append([]string{
		`save ""`, "appendonly yes", "appendfsync everysec", "maxmemory-policy noeviction",
		// Test servers are small, so send replicas the data without a delay. The backlog is large
		// enough that every replica that returns can resynchronise partially.
		"repl-diskless-sync-delay 0", "repl-backlog-size 32mb",
	}, config...)
	return start(t, "redis-server", port, lines)
}

// start writes the configuration and starts the process.
func start(t testing.TB, program string, port int, lines []string) *Server {
	t.Helper()
	s := &Server{t: t, program: program, port: port, dir: t.TempDir()}
	lines = append([]string{
		"bind 127.0.0.1", fmt.Sprintf("port %d", port), "dir " + s.dir, "daemonize no", "logfile " + s.logFile(),
	}, lines...)
	if err := os.WriteFile(s.configFile(), []byte(strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
		t.Fatalf("redistest: %v", err)
	}
	s.client = redis.NewClient(&redis.Options{
		Addr: s.Addr(), MaxRetries: -1, DialTimeout: time.Second, DialerRetries: 1, ReadTimeout: 10 * time.Second,
		ContextTimeoutEnabled: true, DisableIdentity: true,
		// After PoolSize failures to connect, a pool does not try again for a second.
		PoolSize: 1000,
	})
	t.Cleanup(func() {
		s.Kill()
		s.client.Close()
		if t.Failed() {
			t.Logf("the end of the log of %s %s:\n%s", s.program, s.Addr(), s.logEnd(40))
		}
	})
	s.Start()
	return s
}

func (s *Server) configFile() string { return filepath.Join(s.dir, "server.conf") }
func (s *Server) logFile() string    { return filepath.Join(s.dir, "server.log") }

// Addr returns the server's address, which does not change when it restarts.
func (s *Server) Addr() string { return fmt.Sprintf("127.0.0.1:%d", s.port) }

// Client returns a client of this server, without retries. Tests use it to look at data and change
// settings. It is closed with the test.
func (s *Server) Client() *redis.Client { return s.client }

// Start starts a server that is down, and waits until it answers and has loaded its data.
func (s *Server) Start() {
	s.t.Helper()
	s.Launch()
	ends := time.Now().Add(readyWithin)
	err := s.ping()
	for ; err != nil && !s.down() && time.Now().Before(ends); err = s.ping() {
		<-time.After(5 * time.Millisecond)
	}
	if err != nil {
		s.t.Fatalf("redistest: %s %s does not answer: %v\n%s", s.program, s.Addr(), err, s.logEnd(20))
	}
}

// ping opens a new connection, because the client's pool waits for a second after it failed to
// connect.
func (s *Server) ping() error {
	conn, err := net.Dial("tcp", s.Addr())
	if err != nil {
		return err
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(time.Second))
	if _, err := conn.Write([]byte("*1\r\n$4\r\nPING\r\n")); err != nil {
		return err
	}
	answer, err := bufio.NewReader(conn).ReadString('\n')
	if err == nil && answer[0] == '-' {
		err = errors.New(answer)
	}
	return err
}

// feeds reports whether the given number of replicas have everything that the server has written. A
// connected replica is not enough. The server holds back new writes until the replica has
// confirmed, within a second, that it has read the data. If the replica became the master before
// that, these writes would be lost.
func (s *Server) feeds(replicas int) bool {
	ctx, conn := context.Background(), s.client.Conn()
	defer conn.Close()
	if conn.Ping(ctx).Err() != nil { // WAIT covers only writes before the last command of its connection
		return false
	}
	n, err := conn.Wait(ctx, replicas, 100*time.Millisecond).Result()
	return err == nil && n >= int64(replicas)
}

// Launch starts the server without waiting. For a while it may refuse connections, or answer
// LOADING.
func (s *Server) Launch() {
	s.t.Helper()
	cmd := exec.Command(s.program, s.configFile())
	cmd.Dir = s.dir
	bind(cmd)
	if err := cmd.Start(); err != nil {
		s.t.Fatalf("redistest: %s: %v", s.program, err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		cmd.Wait()
	}()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.process, s.ended = cmd.Process, ended
}

// down reports whether the process ended by itself.
func (s *Server) down() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-s.ended:
		return true
	default:
		return false
	}
}

// Kill ends the server with kill -9, and returns when the process has ended. The data
// stays.
func (s *Server) Kill() {
	s.mu.Lock()
	process, ended := s.process, s.ended
	s.process = nil
	s.mu.Unlock()
	if process == nil {
		return
	}
	process.Kill()
	<-ended
}

// Restart kills the server and starts it with its data.
func (s *Server) Restart() {
	s.t.Helper()
	s.Kill()
	s.Start()
}

// Pause stops the process like a machine that hangs: connections stay open but get no answer.
// Resume lets it continue.
func (s *Server) Pause() { s.signal(stopSignal) }

// Resume lets a paused server continue.
func (s *Server) Resume() { s.signal(goOnSignal) }

func (s *Server) signal(sig os.Signal) {
	s.t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.process == nil {
		s.t.Fatalf("redistest: %s is down: no signal can be sent", s.Addr())
	}
	if err := s.process.Signal(sig); err != nil {
		s.t.Fatalf("redistest: %s: %v", s.Addr(), err)
	}
}

// Do runs one command and ends the test when it fails.
func (s *Server) Do(args ...any) any {
	s.t.Helper()
	v, err := s.client.Do(s.t.Context(), args...).Result()
	if err != nil {
		s.t.Fatalf("redistest: %v at %s: %v", args, s.Addr(), err)
	}
	return v
}

// Info returns a field of INFO, or "" if the server does not have it or does not answer.
func (s *Server) Info(field string) string {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	text, err := s.client.Info(ctx, "all").Result()
	if err != nil {
		return ""
	}
	for line := range strings.Lines(text) {
		if value, ok := strings.CutPrefix(strings.TrimSpace(line), field+":"); ok {
			return value
		}
	}
	return ""
}

// logEnd returns the last lines of the server's log.
func (s *Server) logEnd(lines int) string {
	text, err := os.ReadFile(s.logFile())
	if err != nil {
		return err.Error()
	}
	all := strings.Split(strings.TrimSpace(string(text)), "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}
