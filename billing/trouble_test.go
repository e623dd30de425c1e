package billing_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch/billing"
)

// troubled is a shop whose calls fail when told to. A test sets its fields between
// two calls of pass.
type troubled struct {
	*shop
	mu                  sync.Mutex // orders what a test sets and what a meter reads
	each, pause, resume error
	balanceOf           func(owner string) error
	append              func(context.Context, []billing.Entry) error
	log                 strings.Builder
}

// set is a field as the test set it.
func set[T any](s *troubled, field *T) T {
	s.mu.Lock()
	defer s.mu.Unlock()
	return *field
}

// pass lets time pass.
func (s *troubled) pass(d time.Duration) {
	set(s, &s.each) // what was set is seen
	pass(d)
	set(s, &s.each) // what was read is over
}

func (s *troubled) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.log.Write(b)
}

func (s *troubled) Each(ctx context.Context, fn func(billing.Stream) error) error {
	if err := set(s, &s.each); err != nil {
		return err
	}
	return s.shop.Each(ctx, fn)
}

func (s *troubled) Pause(ctx context.Context, st billing.Stream) error {
	if err := set(s, &s.pause); err != nil {
		return err
	}
	return s.shop.Pause(ctx, st)
}

func (s *troubled) Resume(ctx context.Context, st billing.Stream) error {
	if err := set(s, &s.resume); err != nil {
		return err
	}
	return s.shop.Resume(ctx, st)
}

func (s *troubled) Balance(ctx context.Context, owner string) (billing.Balance, error) {
	if fails := set(s, &s.balanceOf); fails != nil {
		if err := fails(owner); err != nil {
			return billing.Balance{}, err
		}
	}
	return s.shop.Balance(ctx, owner)
}

func (s *troubled) Append(ctx context.Context, entries ...billing.Entry) error {
	if fails := set(s, &s.append); fails != nil {
		if err := fails(ctx, entries); err != nil {
			return err
		}
	}
	return s.shop.Append(ctx, entries...)
}

// meter runs a meter until the end of the bubble or stop.
func (s *troubled) meter(t *testing.T) (m *billing.Meter, stop func()) {
	t.Helper()
	m, err := billing.NewMeter(billing.MeterConfig{Ledger: s, Streams: s, Now: s.now, Logger: slog.New(slog.NewTextHandler(s, nil))})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- m.Run(ctx) }()
	synctest.Wait()
	return m, func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

func (s *troubled) logged(t *testing.T, text string, times int) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := strings.Count(s.log.String(), text); n != times {
		t.Errorf("%q is logged %d times, want %d:\n%s", text, n, times, s.log.String())
	}
}

// changed are the pauses and resumes so far.
func (s *shop) changed() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Join(s.changes, " ")
}

// inTrouble runs a test in a bubble, with a stream m of acme that costs a credit a minute.
func inTrouble(t *testing.T, credits billing.Credits, do func(*testing.T, *troubled)) {
	synctest.Test(t, func(t *testing.T) {
		s := &troubled{shop: newShop()}
		if credits > 0 {
			s.topUp(t, "acme", credits*billing.Credit)
		}
		s.open("m", perMinute)
		do(t, s)
	})
}

// A tick that does not know the streams forgets none of them.
func TestStreamsThatCannotBeListedAreMadeUpFor(t *testing.T) {
	inTrouble(t, 1000, func(t *testing.T, s *troubled) {
		m, stop := s.meter(t)
		s.each = errDown
		s.pass(2 * time.Minute)
		s.each = nil
		s.pass(time.Minute)
		stop()
		want(t, "minutes charged", s.minutes(t, "m"), "00:00 00:01 00:02 00:03")
		want(t, "ticks that failed", m.Stats().Failed, 2)
		s.logged(t, "cannot charge streams", 2)
	})
}

// An owner whose balance is not known is neither charged nor paused, and the
// others are charged.
func TestBalanceThatCannotBeRead(t *testing.T) {
	inTrouble(t, 1000, func(t *testing.T, s *troubled) {
		s.topUp(t, "globex", 1000*billing.Credit)
		s.open("theirs", perMinute)
		s.streams[1].Owner = "globex"
		m, stop := s.meter(t)
		s.balanceOf = func(owner string) error {
			if owner == "acme" {
				return errDown
			}
			return nil
		}
		s.pass(time.Minute)
		want(t, "minutes of acme", s.minutes(t, "m"), "00:00")
		want(t, "charged", m.Stats(), billing.Stats{Charged: 3 * billing.Credit, Failed: 1, Running: 2})
		s.logged(t, `balance of \"acme\"`, 1)
		s.balanceOf = nil
		s.pass(time.Minute)
		stop()
		want(t, "minutes of acme later", s.minutes(t, "m"), "00:00 00:01 00:02")
		want(t, "changes", s.changed(), "")
	})
}

// What it has to be made up for counts, beside the next hour.
func TestWhatIsOwedHasToBeCovered(t *testing.T) {
	inTrouble(t, 70, func(t *testing.T, s *troubled) {
		stop := s.run(t)
		s.set(func() { s.down = true })
		s.pass(10 * time.Minute) // of 69 credits it owes 9, and the next hour
		want(t, "changes", s.changed(), "")
		s.pass(time.Minute)
		want(t, "changes a minute later", s.changed(), "pause m")
		stop()
	})
}

// A stream that should be paused and is not pays nothing for that minute, and
// counts as running.
func TestPauseThatFails(t *testing.T) {
	inTrouble(t, 60, func(t *testing.T, s *troubled) {
		m, stop := s.meter(t)
		s.pause = errDown
		s.pass(time.Minute)
		want(t, "stats", m.Stats(), billing.Stats{Charged: billing.Credit, Running: 1})
		s.topUp(t, "acme", 1000*billing.Credit)
		s.pass(time.Minute)
		stop()
		want(t, "minutes charged", s.minutes(t, "m"), "00:00 00:02")
		s.logged(t, "cannot pause a stream", 1)
		s.logged(t, "stream paused for lack of credits", 0)
	})
}

func TestResumeThatFails(t *testing.T) {
	inTrouble(t, 1000, func(t *testing.T, s *troubled) {
		s.streams[0].Paused, s.resume = true, errDown
		m, stop := s.meter(t)
		want(t, "stats", m.Stats(), billing.Stats{Waiting: 1})
		s.logged(t, "cannot resume a stream", 1)
		s.logged(t, "stream resumed", 0)
		s.resume = nil
		s.pass(time.Minute)
		stop()
		want(t, "stats a minute later", m.Stats(), billing.Stats{Resumed: 1, Running: 1})
	})
}

// A ledger that does not answer delays a tick or two, and no more.
func TestLedgerThatHangs(t *testing.T) {
	inTrouble(t, 1000, func(t *testing.T, s *troubled) {
		m, stop := s.meter(t)
		s.append = func(ctx context.Context, _ []billing.Entry) error { <-ctx.Done(); return ctx.Err() }
		s.pass(time.Minute + 55*time.Second)
		s.append = nil
		s.pass(10 * time.Second)
		stop()
		want(t, "minutes charged", s.minutes(t, "m"), "00:00 00:01 00:02")
		want(t, "ticks that failed", m.Stats().Failed, 1)
	})
}

// That the tick under way fails when a meter is stopped is nothing to tell.
func TestStoppedTickIsNotLogged(t *testing.T) {
	inTrouble(t, 1000, func(t *testing.T, s *troubled) {
		s.append = func(ctx context.Context, _ []billing.Entry) error { <-ctx.Done(); return ctx.Err() }
		_, stop := s.meter(t)
		stop()
		want(t, "log", s.log.String(), "")
	})
}

// The charges of many owners go in few calls, none has more than 256, and a ledger
// that is down is asked once for each.
func TestChargesGoInBatches(t *testing.T) {
	for _, row := range []struct {
		streams []int // of each owner
		calls   string
	}{
		{[]int{128, 128, 1}, "256 1"}, {[]int{100, 100, 100}, "200 100"}, {[]int{600}, "256 256 88"}, {[]int{1, 600, 1}, "1 256 256 88 1"},
	} {
		for _, down := range []bool{false, true} {
			t.Run(fmt.Sprint(row.streams, " ", down), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					s := &troubled{shop: newShop()}
					for i, n := range row.streams {
						owner := fmt.Sprint("owner ", i)
						s.topUp(t, owner, 1_000_000*billing.Credit)
						for range n {
							s.open(fmt.Sprint(len(s.streams)), perMinute)
							s.streams[len(s.streams)-1].Owner = owner
						}
					}
					var calls []string
					s.append = func(_ context.Context, es []billing.Entry) error {
						calls = append(calls, fmt.Sprint(len(es)))
						if down {
							return errDown
						}
						return nil
					}
					_, stop := s.meter(t)
					stop()
					if got := strings.Join(calls, " "); !down {
						want(t, "calls", got, row.calls)
					} else if len(calls) > len(row.streams) || !strings.HasPrefix(row.calls+" ", calls[0]+" ") {
						t.Errorf("calls of a ledger that is down: %s", got)
					}
				})
			})
		}
	}
}

// When only the first of an owner's batches was taken, none of the minute is lost.
func TestBatchThatFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &troubled{shop: newShop()}
		s.topUp(t, "acme", 1_000_000*billing.Credit)
		const streams = 300
		for i := range streams {
			s.open(fmt.Sprint(i), perMinute)
		}
		m, stop := s.meter(t)
		s.append = func(_ context.Context, es []billing.Entry) error {
			if len(es) < 256 {
				return errDown
			}
			return nil
		}
		s.pass(time.Minute)
		s.append = nil
		s.pass(time.Minute)
		stop()
		want(t, "charges", 1_000_000*billing.Credit-s.balance(t), 3*streams*billing.Credit)
		want(t, "stats", m.Stats(), billing.Stats{Charged: 3 * streams * billing.Credit, Failed: 1, Running: streams})
	})
}

// Of owners charged one by one each counts: those that are charged, and the one
// that has spent the credits meanwhile.
func TestStatsWhenOneSpendsMeanwhile(t *testing.T) {
	inTrouble(t, 1000, func(t *testing.T, s *troubled) {
		s.topUp(t, "spender", 1000*billing.Credit)
		s.open("theirs", perMinute)
		s.streams[1].Owner = "spender"
		s.append = func(_ context.Context, es []billing.Entry) error {
			for _, e := range es {
				if e.Owner == "spender" {
					return billing.ErrInsufficient
				}
			}
			return nil
		}
		m, stop := s.meter(t)
		want(t, "stats", m.Stats(), billing.Stats{Charged: billing.Credit, Failed: 1, Running: 2})
		s.logged(t, `owner \"spender\"`, 1)
		s.append = func(context.Context, []billing.Entry) error { return errDown }
		s.pass(time.Minute)
		s.append = nil
		s.pass(time.Minute)
		stop()
		want(t, "minutes of the other", s.minutes(t, "m"), "00:00 00:01 00:02")
	})
}

func TestCoveredNeedsTheBalance(t *testing.T) {
	s := &troubled{shop: newShop(), balanceOf: func(string) error { return errDown }}
	m, err := billing.NewMeter(billing.MeterConfig{Ledger: s, Streams: s})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.Covered(t.Context(), "acme"); !errors.Is(err, errDown) {
		t.Errorf("error %v, want the ledger's", err)
	}
}
