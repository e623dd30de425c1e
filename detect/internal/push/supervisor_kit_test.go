package push

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch/detect/internal/poll"
	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/internal/heard"
)

// script is a Streamer that does what a test says, and a sink that takes notes.
type script struct {
	t *testing.T
	// connect is the n-th connection, n from 1.
	connect func(ctx context.Context, n int, q fetcher.StreamQuery, emit func(fetcher.Signal) error) error

	mu       sync.Mutex
	begun    []time.Time
	queries  []fetcher.StreamQuery
	failures []int // as Backoff was asked
	posts    []string
	numbers  []uint64
	covers   []cover
	gaps     int
	gapOf    []int // of how many accounts each is, 0 for all
	trusted  bool
	accounts []fetcher.Account
	stores   int

	log       heard.Output
	asQueries bool
	billed    fetcher.Billed
	closed    time.Time
}

type cover struct {
	accounts int
	unbroken bool
}

func (s *script) Brings(*fetcher.Tweet) bool { return true }

func (s *script) Stream(ctx context.Context, q fetcher.StreamQuery, emit func(fetcher.Signal) error) error {
	s.mu.Lock()
	s.begun, s.queries = append(s.begun, time.Now()), append(s.queries, q)
	n := len(s.begun)
	s.mu.Unlock()
	return s.connect(ctx, n, q, emit)
}

func (s *script) Cover(accounts []fetcher.Account, unbroken bool) {
	s.do(func() { s.covers = append(s.covers, cover{len(accounts), unbroken}) })
}
func (s *script) Gap(of []fetcher.Account) {
	s.do(func() { s.gaps, s.gapOf = s.gaps+1, append(s.gapOf, len(of)) })
}
func (s *script) Trust(trusted bool) { s.do(func() { s.trusted = trusted }) }
func (s *script) Post(number uint64, name string, post *fetcher.Tweet, _ time.Time) {
	s.do(func() { s.posts, s.numbers = append(s.posts, name+" "+post.ID), append(s.numbers, number) })
}

func (s *script) do(fn func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	fn()
}

// connects is how many connections were tried.
func (s *script) connects() (n int) {
	s.do(func() { n = len(s.begun) })
	return n
}

// supervised runs test beside a Supervisor of the accounts nasa, with the id 7, and
// esa.
func supervised(t *testing.T, s *script, test func(sv *Supervisor)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s.t = t
		if s.accounts == nil {
			s.accounts = []fetcher.Account{{Username: "nasa", UserID: "7"}, {Username: "esa"}}
		}
		kind := poll.Accounts
		if s.asQueries {
			kind = poll.Queries
		}
		sv := newSupervisor(supervision{
			sink: s, positions: NewPositions(), health: NewHealth(s.Brings, auditEvery, time.Now),
			accounts: func(context.Context) (list []fetcher.Account, err error) {
				s.do(func() { list = slices.Clone(s.accounts) })
				return list, nil
			},
			Config: Config{
				Streamer: s, Kind: kind,
				Billed: func(b fetcher.Billed) { s.do(func() { s.billed = s.billed.Plus(b) }) },
				Closed: func() (wait time.Duration) { s.do(func() { wait = time.Until(s.closed) }); return max(0, wait) },
				Store:  func() { s.do(func() { s.stores++ }) },
				Backoff: func(n int) time.Duration {
					s.do(func() { s.failures = append(s.failures, n) })
					return time.Duration(n) * 10 * time.Second
				},
				Logger: slog.New(slog.NewTextHandler(&s.log, nil)), Now: time.Now,
			}})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); sv.Run(ctx) }()
		synctest.Wait()
		test(sv)
		cancel()
		<-done
	})
}

func pass(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

// up accepts a connection.
func up(q fetcher.StreamQuery, emit func(fetcher.Signal) error) error {
	return emit(fetcher.Signal{Kind: fetcher.SignalUp, Accounts: q.Accounts, Resumed: q.Position != "", Position: q.Position})
}

// every emits a signal again and again until ctx ends or d has passed.
func every(ctx context.Context, pause, d time.Duration, sig fetcher.Signal, emit func(fetcher.Signal) error) error {
	ticker, end := time.NewTicker(pause), time.After(d)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			if err := emit(sig); err != nil {
				return err
			}
		case <-end:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

const forever = 1000 * time.Hour

var beat = fetcher.Signal{Kind: fetcher.SignalHeartbeat}

func (s *script) wantConnects(want int, when string) {
	s.t.Helper()
	if got := s.connects(); got != want {
		s.t.Errorf("%s: %d connections, want %d", when, got, want)
	}
}
