package pgtest

import "testing"

// Server is a server of a test: an Instance that ends with the test, and whose methods end the test
// when they fail. Call them on the test's goroutine, except Addr and URL, which may be called on any.
type Server struct {
	t testing.TB
	i *Instance
}

// Single starts a server without a standby. config adds lines of configuration, for example
// "fsync off" or "max_connections 20".
func Single(t testing.TB, config ...string) *Server {
	t.Helper()
	Need(t)
	s := newServer(t, config...)
	s.Start()
	return s
}

func newServer(t testing.TB, config ...string) *Server {
	t.Helper()
	i, err := newInstance("", config...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the end of the log of the server %s:\n%s", i.Addr(), i.logEnd(40))
		}
		if err := i.Close(); err != nil {
			t.Error(err)
		}
	})
	return &Server{t, i}
}

func (s *Server) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

// Addr returns the server's address, which does not change when it restarts.
func (s *Server) Addr() string { return s.i.Addr() }

// URL returns the address of the server's own database, which is called Role.
func (s *Server) URL() string { return s.i.URL() }

// NewDatabase makes an empty database on the server, for a case of a test, and returns its URL. That
// takes a fraction of the time of another server. It lasts as long as the server: to drop it would
// take as long as to make it.
func (s *Server) NewDatabase(t testing.TB) string {
	t.Helper()
	url, err := s.i.NewDatabase()
	if err != nil {
		t.Fatal(err)
	}
	return url
}

// Start starts a server that is down, and waits until it answers and has recovered its data.
func (s *Server) Start() {
	s.t.Helper()
	s.must(s.i.Start())
}

// Launch starts a server that is down, without waiting. For a while it refuses connections, or says
// that it is starting up.
func (s *Server) Launch() {
	s.t.Helper()
	s.must(s.i.Launch())
}

// Kill ends the server with kill -9, all its processes, and returns when they have ended. The data
// stays.
func (s *Server) Kill() {
	s.t.Helper()
	s.must(s.i.Kill())
}

// Stop ends the server in order: it aborts what its clients do, and syncs its data.
func (s *Server) Stop() {
	s.t.Helper()
	s.must(s.i.Stop())
}

// Restart kills the server and starts it with its data.
func (s *Server) Restart() {
	s.t.Helper()
	s.must(s.i.Restart())
}

// Pause stops all processes of the server like a machine that hangs: connections stay open but get
// no answer. Resume lets them continue.
func (s *Server) Pause() {
	s.t.Helper()
	s.must(s.i.Pause())
}

// Resume lets a paused server continue.
func (s *Server) Resume() {
	s.t.Helper()
	s.must(s.i.Resume())
}

// Exec runs a statement as superuser in the server's own database.
func (s *Server) Exec(sql string, args ...any) {
	s.t.Helper()
	s.must(s.i.Exec(sql, args...))
}

// Value returns the only value of the only row of a query, as superuser in the server's own database.
func (s *Server) Value(sql string, args ...any) any {
	s.t.Helper()
	v, err := s.i.Value(sql, args...)
	s.must(err)
	return v
}
