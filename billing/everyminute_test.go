package billing_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/bits"
	"math/rand/v2"
	"runtime/debug"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch/billing"
	"github.com/streamwatch/streamwatch/internal/testsize"
)

var manyDays = flag.Int("days", 1, "virtual days of TestEveryMinuteOfManyStreamsOnce; 400 take some minutes")

// tally is a ledger that keeps a bit for each minute of each stream, so that
// hundreds of millions of entries fit; charges are all it takes. It is the
// streams as well, of which stream i has the id i.
type tally struct {
	streams []billing.Stream
	begin   time.Time
	minutes int // that may be charged

	mu          sync.Mutex
	down        bool
	charged     [][]uint64 // bits, by stream
	balance     map[string]billing.Credits
	made, again int
	wrong       error // the first entry that should not be
}

func (l *tally) Append(_ context.Context, entries ...billing.Entry) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.down {
		return errDown
	}
	for i := range entries {
		e := &entries[i]
		n, err := strconv.Atoi(e.SourceID)
		m := int(e.At.Sub(l.begin) / time.Minute)
		switch {
		case err != nil || e.At.Before(l.begin) || m >= l.minutes || e.At.Second() != 0:
			err = errors.New("nobody watched then")
		// The id is what makes two charges one. To see one in 16 shows any that is wrong.
		case (n+m)%16 == 0 && e.ID != billing.ChargeID(billing.KindMonitor, e.SourceID, e.At):
			err = errors.New("another id")
		case e.Amount != priceOf(l.streams[n].Price.PerDay, m%1440) || e.Owner != l.streams[n].Owner:
			err = errors.New("another amount or owner")
		case l.charged[n][m/64]>>(m%64)&1 == 1:
			l.again++
		default:
			l.charged[n][m/64] |= 1 << (m % 64)
			l.balance[e.Owner] += e.Amount
			l.made++
		}
		if err != nil && l.wrong == nil {
			l.wrong = fmt.Errorf("%+v: %w", e, err)
		}
	}
	return nil
}

// priceOf is the charge for a minute of a day: those before it and itself have
// cost their share, rounded down.
func priceOf(perDay billing.Credits, minute int) billing.Credits {
	i := billing.Credits(minute)
	return perDay*i/1440 - perDay*(i+1)/1440
}

func (l *tally) Balance(_ context.Context, owner string) (billing.Balance, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return billing.Balance{Available: l.balance[owner]}, nil
}

func (l *tally) Each(_ context.Context, fn func(billing.Stream) error) error {
	for _, s := range l.streams {
		if err := fn(s); err != nil {
			return err
		}
	}
	return nil
}

func (l *tally) Pause(_ context.Context, s billing.Stream) error {
	return l.never("paused " + s.ID)
}
func (l *tally) Resume(_ context.Context, s billing.Stream) error {
	return l.never("resumed " + s.ID)
}
func (l *tally) Reserve(context.Context, billing.Reservation) error  { return l.never("reserved") }
func (l *tally) Commit(context.Context, string, billing.Entry) error { return l.never("committed") }
func (l *tally) Release(context.Context, string) error               { return l.never("released") }
func (l *tally) Totals(context.Context, ...billing.Source) ([]billing.Credits, error) {
	return nil, l.never("asked for totals")
}
func (l *tally) Entries(context.Context, billing.EntryQuery) (billing.EntryPage, error) {
	return billing.EntryPage{}, l.never("listed")
}

func (l *tally) never(what string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.wrong = errors.New(what)
	return l.wrong
}

// Up to 1,000 monitors of 10 owners, while processes are restarted, two charge at once,
// the ledger fails for up to 50 minutes, and the clock is set back, so that
// minutes come again, or ahead and back again, so that they come out of order. At
// every minute some process runs: each is charged once, and all days cost their
// price. Time in which none runs is TestManyDays's.
func TestEveryMinuteOfManyStreamsOnce(t *testing.T) {
	streams, days := testsize.Of(40, 200, 1000), *manyDays
	if testing.Short() || testsize.Race {
		days = 1
	}
	defer debug.SetGCPercent(debug.SetGCPercent(800)) // else half of the time goes there
	synctest.Test(t, func(t *testing.T) {
		l := &tally{begin: time.Now(), minutes: days * 1440, balance: make(map[string]billing.Credits)}
		var perDay billing.Credits
		for i := range streams {
			price := billing.Presets{}.Monitor(1 + i)
			perDay += price.PerDay
			owner := fmt.Sprint("owner ", i%10)
			l.streams = append(l.streams, billing.Stream{Kind: billing.KindMonitor, ID: strconv.Itoa(i), Owner: owner, Accounts: 1 + i, Price: price, CreatedAt: l.begin.Add(time.Duration(i))})
			l.charged = append(l.charged, make([]uint64, (l.minutes+63)/64))
			l.balance[owner] += price.PerDay * billing.Credits(days+1)
		}
		var had, has billing.Credits
		for _, b := range l.balance {
			had += b
		}
		r := &rough{T: t, tally: l, rnd: rand.New(rand.NewPCG(5, 6)), did: make(map[string]int), ticked: make([]bool, l.minutes)}
		r.live()
		for _, b := range l.balance {
			has += b
		}
		if l.wrong != nil {
			t.Error(l.wrong)
		}
		missing := 0
		for _, minutes := range l.charged {
			missing += l.minutes
			for _, word := range minutes {
				missing -= bits.OnesCount64(word)
			}
		}
		want(t, "minutes that were not charged", missing, 0)
		want(t, "charges", l.made, streams*l.minutes)
		want(t, "price", had-has, perDay*billing.Credits(days))
		for _, what := range []string{"restarts", "second processes", "jumps back", "jumps ahead", "outages"} {
			if r.did[what] < days {
				t.Errorf("%d %s in %d days: too quiet a run", r.did[what], what, days)
			}
		}
		t.Logf("%d streams, %d days: %d charges, %d more that were there; %v", streams, days, l.made, l.again, r.did)
	})
}
