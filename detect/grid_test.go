package detect_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/detect"
	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/monitor"
	"github.com/streamwatch/streamwatch/storage/memory"
)

// pollTimes is a platform without posts, and a journal that keeps nothing.
type pollTimes struct {
	mu sync.Mutex
	at map[string][]time.Time
}

func (p *pollTimes) Timeline(_ context.Context, q fetcher.TimelineQuery) (fetcher.Page, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.at[q.Username] = append(p.at[q.Username], time.Now())
	return fetcher.Page{}, nil
}

func (*pollTimes) Commit(context.Context, []*detect.Batch) error { return nil }
func (*pollTimes) Cursors(context.Context, ...string) ([]detect.Cursor, error) {
	return nil, nil
}

// Every account is polled in each interval at its phase, counted from the Unix
// epoch: never before, and less than a millisecond after.
func TestPollsComeAtThePhase(t *testing.T) {
	for _, tc := range []struct {
		interval time.Duration
		begin    time.Duration // after a whole second
	}{
		{time.Second, 0},
		{7 * time.Second, 123456789},
		{time.Minute, 999999999},
		{time.Hour, 1},
	} {
		t.Run(tc.interval.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const accounts, intervals = 50, 4
				<-time.After(tc.begin)
				p := &pollTimes{at: map[string][]time.Time{}}
				d, err := detect.New(detect.Config{Shards: 3}, detect.Deps{Fetcher: p, Journal: p, State: memory.New(memory.Options{}).Ports().State})
				if err != nil {
					t.Fatal(err)
				}
				sub := detect.Subscription{Source: deliver.Source{ID: "m"}, Interval: tc.interval, Spread: true}
				for i := range accounts {
					sub.Accounts = append(sub.Accounts, monitor.Account{Username: fmt.Sprintf("User%d", i)})
				}
				if err := d.Set(t.Context(), sub); err != nil {
					t.Fatal(err)
				}
				start := time.Now().UnixNano()
				ended := make(chan error)
				go func() { ended <- d.Run(t.Context()) }()
				<-time.After(intervals*tc.interval + time.Millisecond)
				synctest.Wait()
				d.Stop()
				if err := <-ended; err != nil {
					t.Error(err)
				}
				for _, a := range sub.Accounts {
					phase, step := int64(detect.Phase(a.Username, tc.interval)), int64(tc.interval)
					due := start - start%step + phase
					if due <= start {
						due += step
					}
					got := p.at[a.Username]
					if len(got) < intervals {
						t.Fatalf("%s: polled %d times in %d intervals", a.Username, len(got), intervals)
					}
					for _, at := range got {
						if late := time.Duration(at.UnixNano() - due); late < 0 || late >= time.Millisecond {
							t.Errorf("%s: polled %s after it was due at %s", a.Username, late, time.Unix(0, due))
						}
						due += step
					}
				}
			})
		})
	}
}

// With Gather polls begin together, each by less than that after it was due, and what is to
// be polled at once does not wait.
func TestPollsAreGathered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const gather, interval = 50 * time.Millisecond, time.Second
		p := &pollTimes{at: map[string][]time.Time{}}
		d, err := detect.New(detect.Config{Shards: 2, Gather: gather}, detect.Deps{Fetcher: p, Journal: p, State: memory.New(memory.Options{}).Ports().State})
		if err != nil {
			t.Fatal(err)
		}
		sub := detect.Subscription{Source: deliver.Source{ID: "m"}, Interval: interval, Spread: true}
		for i := range 200 {
			sub.Accounts = append(sub.Accounts, monitor.Account{Username: fmt.Sprintf("user%d", i)})
		}
		if err := d.Set(t.Context(), sub); err != nil {
			t.Fatal(err)
		}
		ended := make(chan error)
		go func() { ended <- d.Run(t.Context()) }()
		<-time.After(3*interval + gather/3)
		joined := time.Now()
		late := detect.Subscription{Source: deliver.Source{ID: "late"}, Interval: interval, Accounts: []monitor.Account{{Username: "late"}}}
		if err := d.Set(t.Context(), late); err != nil {
			t.Fatal(err)
		}
		<-time.After(time.Millisecond)
		synctest.Wait()
		d.Stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if got := p.at["late"]; len(got) != 1 || got[0].Sub(joined) > time.Millisecond {
			t.Errorf("the account that joined %s was polled %s, want at once", joined, got)
		}
		moments := map[time.Time]bool{}
		for _, a := range sub.Accounts {
			if got := len(p.at[a.Username]); got < 3 {
				t.Fatalf("%s: polled %d times in 3 intervals", a.Username, got)
			}
			for _, at := range p.at[a.Username] {
				moments[at] = true
				after := time.Duration(at.UnixNano()-int64(detect.Phase(a.Username, interval))) % interval
				if after > gather {
					t.Errorf("%s: polled %s after it was due, want at most %s", a.Username, after, gather)
				}
			}
		}
		if most := int(3*interval/gather) + 2; len(moments) > most {
			t.Errorf("polls began at %d moments, want at most %d", len(moments), most)
		}
	})
}

func TestPhase(t *testing.T) {
	for _, tc := range []struct {
		name     string
		username string
		interval time.Duration
		same     string // username with the same phase
	}{
		{"upper case", "NASA", time.Minute, "nasa"},
		{"with an at sign", "@nasa", time.Minute, "nasa"},
		{"short intervals", "esa", time.Nanosecond, "nasa"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := detect.Phase(tc.username, tc.interval)
			if got < 0 || got >= tc.interval {
				t.Errorf("phase %s, want 0 to less than %s", got, tc.interval)
			}
			if want := detect.Phase(tc.same, tc.interval); got != want {
				t.Errorf("phase %s, want %s as of %q", got, want, tc.same)
			}
		})
	}
}
