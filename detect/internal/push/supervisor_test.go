package push

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch/fetcher"
)

var errBroken = errors.New("broken pipe")

// The pause grows with each failure, until a connection has lasted.
func TestBackoff(t *testing.T) {
	s := &script{}
	s.connect = func(ctx context.Context, n int, q fetcher.StreamQuery, emit func(fetcher.Signal) error) error {
		switch n {
		case 4: // lasts
			if err := up(q, emit); err != nil {
				return err
			}
			<-time.After(settled)
		case 5: // does not
			if err := up(q, emit); err != nil {
				return err
			}
			<-time.After(settled - 1)
		case 7:
			<-ctx.Done()
		}
		return errBroken
	}
	supervised(t, s, func(sv *Supervisor) {
		pass(time.Hour)
		if want := []int{1, 2, 3, 1, 2, 3}; !slices.Equal(s.failures[:6], want) {
			t.Errorf("failures in a row: %v, want %v", s.failures, want)
		}
		var pauses []time.Duration
		for i := range 6 {
			pauses = append(pauses, s.begun[i+1].Sub(s.begun[i]).Round(time.Second))
		}
		want := []time.Duration{10 * time.Second, 20 * time.Second, 30 * time.Second, settled + 10*time.Second, settled + 20*time.Second, 30 * time.Second}
		if !slices.Equal(pauses, want) {
			t.Errorf("pauses %v, want %v", pauses, want)
		}
		if st := sv.cfg.health.Stats(); st.Connects != 2 || st.Disconnects < 6 {
			t.Errorf("stats %+v", st)
		}
	})
}

// The pause is at least what the platform asks for.
func TestBackoffAsAsked(t *testing.T) {
	s := &script{connect: func(ctx context.Context, n int, _ fetcher.StreamQuery, _ func(fetcher.Signal) error) error {
		switch n {
		case 1:
			return fmt.Errorf("stream: %w", &fetcher.RateLimitError{RetryAfter: 15 * time.Minute})
		case 2:
			return fmt.Errorf("stream: %w", &fetcher.StatusError{Code: 503, RetryAfter: 5 * time.Minute})
		case 3: // the third pause is longer than that
			return &fetcher.StatusError{Code: 503, RetryAfter: 5 * time.Second}
		}
		<-ctx.Done()
		return ctx.Err()
	}}
	supervised(t, s, func(*Supervisor) {
		pass(time.Hour)
		var pauses []time.Duration
		for i := range 3 {
			pauses = append(pauses, s.begun[i+1].Sub(s.begun[i]).Round(time.Second))
		}
		if want := []time.Duration{15 * time.Minute, 5 * time.Minute, 30 * time.Second}; !slices.Equal(pauses, want) {
			t.Errorf("pauses %v, want %v", pauses, want)
		}
	})
}

// A platform that has no stream is not asked again.
func TestUnsupported(t *testing.T) {
	s := &script{connect: func(context.Context, int, fetcher.StreamQuery, func(fetcher.Signal) error) error {
		return fmt.Errorf("mastodon: %w", fetcher.ErrUnsupported)
	}}
	supervised(t, s, func(sv *Supervisor) {
		pass(24 * time.Hour)
		s.wantConnects(1, "in a day")
		if st := sv.cfg.health.Stats(); st.Disconnects != 0 || st.Trusted {
			t.Errorf("stats %+v", st)
		}
	})
}

// A Streamer that cannot change its accounts connects again, and that is no failure.
func TestResubscribe(t *testing.T) {
	s := &script{connect: func(ctx context.Context, n int, q fetcher.StreamQuery, emit func(fetcher.Signal) error) error {
		if err := up(q, emit); err != nil {
			return err
		}
		select {
		case <-q.Changes:
			return fetcher.ErrResubscribe
		case <-ctx.Done():
			return ctx.Err()
		}
	}}
	supervised(t, s, func(sv *Supervisor) {
		pass(time.Minute)
		s.do(func() { s.accounts = append(s.accounts, fetcher.Account{Username: "jaxa"}) })
		sv.AccountsChanged()
		pass(readEvery + tick)
		s.wantConnects(2, "after a change")
		if n := len(s.queries[1].Accounts); n != 3 || len(s.failures) != 0 {
			t.Errorf("connected for %d accounts after %d failures, want 3 and none", n, len(s.failures))
		}
		if st := sv.cfg.health.Stats(); st.Disconnects != 0 || !st.Connected {
			t.Errorf("stats %+v", st)
		}
	})
}

// A Streamer that panics has failed, and is called again; so has one that returns.
func TestStreamerThatPanics(t *testing.T) {
	for name, end := range map[string]func(){
		"a panic": func() { panic("nil map") },
		"an end":  func() {},
	} {
		t.Run(name, func(t *testing.T) {
			s := &script{connect: func(ctx context.Context, n int, q fetcher.StreamQuery, emit func(fetcher.Signal) error) error {
				if err := up(q, emit); err != nil || n == 3 {
					<-ctx.Done()
					return err
				}
				end()
				return nil
			}}
			supervised(t, s, func(sv *Supervisor) {
				if st := sv.cfg.health.Stats(); st.Connected || st.Trusted || st.Disconnects != 1 {
					t.Errorf("stats %+v", st)
				}
				pass(time.Hour)
				s.wantConnects(3, "in an hour")
				if st := sv.cfg.health.Stats(); !st.Connected || st.Disconnects != 2 {
					t.Errorf("stats %+v", st)
				}
			})
		})
	}
}

// Without accounts there is no connection; a change of them reaches the one that
// there is, the newest alone.
func TestAccountsReachTheConnection(t *testing.T) {
	var lists chan int
	var read chan struct{}
	s := &script{accounts: []fetcher.Account{}}
	s.connect = func(ctx context.Context, n int, q fetcher.StreamQuery, emit func(fetcher.Signal) error) error {
		if err := up(q, emit); err != nil {
			return err
		}
		for {
			select {
			case list := <-q.Changes:
				lists <- len(list)
				if err := emit(fetcher.Signal{Kind: fetcher.SignalAccounts, Accounts: list}); err != nil {
					return err
				}
				select {
				case <-read:
				case <-ctx.Done():
				}
			case <-ctx.Done():
				return ctx.Err()
			}
		}
	}
	supervised(t, s, func(sv *Supervisor) {
		lists, read = make(chan int, 10), make(chan struct{})
		pass(time.Hour)
		s.wantConnects(0, "without accounts")
		set := func(n int) {
			s.do(func() { s.accounts = make([]fetcher.Account, n) })
			sv.AccountsChanged()
			pass(2 * readEvery)
		}
		set(1)
		s.wantConnects(1, "with an account")
		sv.AccountsChanged() // they are the same
		pass(2 * readEvery)
		for n := range 4 {
			set(2 + n)
		}
		close(read)
		synctest.Wait()
		close(lists)
		var told []int
		for n := range lists {
			told = append(told, n)
		}
		if !slices.Equal(told, []int{2, 5}) {
			t.Errorf("told of %v accounts, want [2 5]: the newest when it asks", told)
		}
		s.wantConnects(1, "after changes")
		want := []cover{{1, false}, {2, true}, {5, true}}
		changes := slices.CompactFunc(s.covers, func(a, b cover) bool { return a.accounts == b.accounts }) // the same list may be told again
		if !slices.Equal(changes, want) {
			t.Errorf("covered %v, want %v", changes, want)
		}
	})
}

// What a connection covers goes on over a resume, and begins anew when something was
// left out.
func TestCoverAndGap(t *testing.T) {
	s := &script{connect: func(ctx context.Context, n int, q fetcher.StreamQuery, emit func(fetcher.Signal) error) error {
		sig := fetcher.Signal{Kind: fetcher.SignalUp, Accounts: q.Accounts, Resumed: n != 3, Position: "p"}
		if err := emit(sig); err != nil {
			return err
		}
		if n == 2 {
			if err := emit(fetcher.Signal{Kind: fetcher.SignalGap}); err != nil {
				return err
			}
		}
		return errBroken
	}}
	supervised(t, s, func(sv *Supervisor) {
		for s.connects() < 4 {
			pass(time.Second)
		}
		// The first is resumed, too: of a process before, whose accounts nobody knows.
		want := []cover{{2, false}, {2, true}, {2, false}, {2, true}}
		if !slices.Equal(s.covers[:4], want) || s.gaps != 1 {
			t.Errorf("covered %v with %d gaps, want %v and 1", s.covers, s.gaps, want)
		}
		if q := s.queries; q[0].Position != "" || q[1].Position != "p" {
			t.Errorf("resumed at %q and %q", q[0].Position, q[1].Position)
		}
	})
}

// A stream that says all the time that it has left something out is heard once a second.
func TestManyGaps(t *testing.T) {
	s := &script{connect: func(ctx context.Context, _ int, q fetcher.StreamQuery, emit func(fetcher.Signal) error) error {
		if err := emit(fetcher.Signal{Kind: fetcher.SignalUp, Accounts: q.Accounts}); err != nil {
			return err
		}
		for range 1000 {
			if err := emit(fetcher.Signal{Kind: fetcher.SignalGap}); err != nil {
				return err
			}
		}
		<-ctx.Done()
		return ctx.Err()
	}}
	supervised(t, s, func(sv *Supervisor) {
		pass(2 * tick)
		if st := sv.cfg.health.Stats(); s.gaps != 1 || st.Gaps != 1000 {
			t.Errorf("told of %d gaps of %d, want once", s.gaps, st.Gaps)
		}
	})
}

// Gaps of some accounts are told together, once a second, unless all have one.
func TestGapsOfAccounts(t *testing.T) {
	nasa, esa := []fetcher.Account{{Username: "nasa", UserID: "7"}}, []fetcher.Account{{Username: "esa"}}
	for name, c := range map[string]struct {
		gaps [][]fetcher.Account
		want int // accounts of the one gap that is told, 0 for all
	}{
		"one":                {[][]fetcher.Account{nasa}, 1},
		"one again":          {[][]fetcher.Account{nasa, nasa}, 1},
		"two":                {[][]fetcher.Account{nasa, esa}, 2},
		"all after one":      {[][]fetcher.Account{nasa, nil}, 0},
		"one after all":      {[][]fetcher.Account{nil, esa}, 0},
		"an empty list: all": {[][]fetcher.Account{nasa, {}}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			s := &script{connect: func(ctx context.Context, _ int, q fetcher.StreamQuery, emit func(fetcher.Signal) error) error {
				if err := up(q, emit); err != nil {
					return err
				}
				for _, of := range c.gaps {
					if err := emit(fetcher.Signal{Kind: fetcher.SignalGap, Accounts: of}); err != nil {
						return err
					}
				}
				<-ctx.Done()
				return ctx.Err()
			}}
			supervised(t, s, func(sv *Supervisor) {
				pass(3 * tick)
				if st := sv.cfg.health.Stats(); !slices.Equal(s.gapOf, []int{c.want}) || st.Gaps != int64(len(c.gaps)) {
					t.Errorf("gaps of %v accounts are told, %d counted: want one of %d", s.gapOf, st.Gaps, c.want)
				}
			})
		})
	}
}

// A post is told from a stranger's by its author's id, and else by the handle.
func TestWhosePost(t *testing.T) {
	s := &script{connect: func(ctx context.Context, _ int, q fetcher.StreamQuery, emit func(fetcher.Signal) error) error {
		for i, post := range []*fetcher.Tweet{
			{ID: "1", UserID: "7", Username: "nasa_renamed"},
			{ID: "2", Username: "@esa"},
			{ID: "3", UserID: "8"},
			nil,
			{ID: "5", UserID: "7", Username: "jaxa"},
		} {
			sig := fetcher.Signal{Kind: fetcher.SignalPost, Post: post, Position: fmt.Sprint(i + 1)}
			if i == 4 { // the stream says whose it is
				sig.Accounts = []fetcher.Account{{Username: "esa"}, {Username: "jaxa"}}
			}
			if err := emit(sig); err != nil {
				return err
			}
		}
		<-ctx.Done()
		return ctx.Err()
	}}
	supervised(t, s, func(sv *Supervisor) {
		if want := []string{"nasa 1", "esa 2", "esa 5", "jaxa 5"}; !slices.Equal(s.posts, want) {
			t.Errorf("posts %v, want %v", s.posts, want)
		}
		sv.cfg.positions.Done(s.numbers)
		if at := sv.cfg.positions.Resume(); at != "5" || sv.cfg.health.Stats().Strangers != 2 {
			t.Errorf("resumes at %q after %d strangers, want 5 after 2", at, sv.cfg.health.Stats().Strangers)
		}
		pass(storeEvery)
		if s.stores != 1 {
			t.Errorf("%d times stored without a commit, want once", s.stores)
		}
	})
}

// Accounts that change all the time, as while their ids become known, do not keep the
// stream from being told.
func TestAccountsThatChangeAllTheTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reads := 0
		s := newSupervisor(supervision{Config: Config{Now: time.Now}, positions: NewPositions(), health: NewHealth(func(*fetcher.Tweet) bool { return true }, time.Hour, time.Now),
			accounts: func(context.Context) ([]fetcher.Account, error) { reads++; return nil, nil }})
		ctx, stop := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { s.Run(ctx) })
		<-time.After(time.Minute)
		synctest.Wait()
		reads = 0
		s.AccountsChanged()
		<-time.After(100 * time.Millisecond)
		synctest.Wait()
		if reads != 1 {
			t.Errorf("accounts were read %d times within 100 ms of a change, want once", reads)
		}
		for range 1000 {
			s.AccountsChanged()
			<-time.After(10 * time.Millisecond)
		}
		synctest.Wait()
		if reads < 9 || reads > 12 {
			t.Errorf("accounts were read %d times in 10 s of changes, want once a second", reads)
		}
		stop()
		running.Wait()
	})
}
