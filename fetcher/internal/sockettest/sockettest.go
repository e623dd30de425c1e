package sockettest

import (
	"context"
	"errors"
	"net"
	"net/http"
	"sync"
)

// Server is an HTTP server on a network in memory. Writes never block: the connections have
// unlimited buffers.
type Server struct {
	http     *http.Server
	client   *http.Client
	accepted chan net.Conn
	closed   chan struct{}
	running  sync.WaitGroup

	mu    sync.Mutex
	links map[*link]bool
	down  bool
}

// NewServer starts a server, which Close ends.
func NewServer(h http.Handler) *Server {
	s := &Server{http: &http.Server{Handler: h}, accepted: make(chan net.Conn), closed: make(chan struct{}), links: map[*link]bool{}}
	s.client = &http.Client{Transport: &http.Transport{DialContext: s.dial}}
	s.running.Go(func() { _ = s.http.Serve(listener{s}) }) // http.ErrServerClosed
	return s
}

// Client returns a client whose connections all lead to the server.
func (s *Server) Client() *http.Client { return s.client }

// Cut ends all connections as if the server's process had died.
func (s *Server) Cut() {
	for _, l := range s.all() {
		l.close()
	}
}

// Freeze keeps the existing connections open, but drops all further bytes in both directions.
func (s *Server) Freeze() {
	for _, l := range s.all() {
		l.freeze()
	}
}

// SetDown sets whether new connections are refused.
func (s *Server) SetDown(down bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.down = down
}

// Close cuts all connections and waits until the server has stopped.
func (s *Server) Close() {
	close(s.closed)
	s.client.CloseIdleConnections()
	s.Cut()
	_ = s.http.Close()
	s.running.Wait()
}

func (s *Server) all() []*link {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []*link
	for l := range s.links {
		all = append(all, l)
	}
	return all
}

var errRefused = errors.New("sockettest: connection refused")

func (s *Server) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	s.mu.Lock()
	down := s.down
	s.mu.Unlock()
	if down {
		return nil, errRefused
	}
	client, near := net.Pipe()
	far, server := net.Pipe()
	l := &link{ends: []net.Conn{client, near, far, server}, frozen: make(chan struct{}), closed: make(chan struct{})}
	select {
	case s.accepted <- server:
	case <-s.closed:
		return nil, errRefused
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	s.mu.Lock()
	s.links[l] = true
	s.mu.Unlock()
	s.running.Go(func() {
		l.run()
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.links, l)
	})
	return client, nil
}

// listener hands the server's ends to its http.Server.
type listener struct{ s *Server }

func (l listener) Accept() (net.Conn, error) {
	select {
	case c := <-l.s.accepted:
		return c, nil
	case <-l.s.closed:
		return nil, net.ErrClosed
	}
}
func (listener) Close() error   { return nil }
func (listener) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 80} }

// link carries bytes between a client's connection and a server's.
type link struct {
	ends           []net.Conn // client, near, far, server
	once, freezing sync.Once
	frozen, closed chan struct{}
}

func (l *link) freeze() { l.freezing.Do(func() { close(l.frozen) }) }

func (l *link) close() {
	l.once.Do(func() {
		close(l.closed)
		for _, c := range l.ends {
			c.Close()
		}
	})
}

func (l *link) run() {
	var both sync.WaitGroup
	both.Go(func() { l.carry(l.ends[1], l.ends[2]) })
	both.Go(func() { l.carry(l.ends[2], l.ends[1]) })
	both.Wait()
}

// carry copies bytes from one end to the other until one closes. After a freeze it reads and
// drops them, so writers notice nothing.
func (l *link) carry(from, to net.Conn) {
	defer l.close()
	var mu sync.Mutex
	var buffer []byte
	bell := make(chan struct{}, 1)
	var writing sync.WaitGroup
	defer writing.Wait()
	ended := make(chan struct{})
	defer close(ended)
	writing.Go(func() {
		for last := false; ; {
			mu.Lock()
			b := buffer
			buffer = nil
			mu.Unlock()
			if len(b) > 0 {
				if _, err := to.Write(b); err != nil {
					return
				}
				continue
			}
			if last {
				return
			}
			select {
			case <-bell:
			case <-ended:
				last = true
			}
		}
	})
	room := make([]byte, 32<<10)
	for {
		n, err := from.Read(room)
		select {
		case <-l.frozen:
			n = 0
		default:
		}
		if n > 0 {
			mu.Lock()
			buffer = append(buffer, room[:n]...)
			mu.Unlock()
			select {
			case bell <- struct{}{}:
			default:
			}
		}
		if err == nil {
			continue
		}
		select {
		case <-l.frozen: // do not tell the other side
			<-l.closed
		default:
		}
		return
	}
}
