package probe_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/internal/probe"
)

// world is a Sweep over accounts whose marks a test sets.
type world struct {
	sweep  *probe.Sweep
	health *probe.Health
	marks  []fetcher.Mark
	ready  []bool
	err    error
	short  bool // too few marks
	panics bool
	asked  [][]string // usernames, by call
	hurry  []int32
	now    time.Time
	ended  int // calls that were told to have ended
}

func newWorld(accounts, limit int, perSecond float64) *world {
	w := &world{marks: make([]fetcher.Mark, accounts), ready: make([]bool, accounts), now: time.Unix(1_700_000_000, 0)}
	for i := range w.marks {
		w.marks[i], w.ready[i] = 1, true
	}
	w.health = probe.NewHealth(limit)
	w.sweep = probe.New(probe.Config{Prober: prober{w, limit}, Health: w.health, Accounts: accountsOf{w}, PerSecond: perSecond, Timeout: time.Second,
		Backoff: func(n int) time.Duration { return time.Duration(n) * time.Second },
		Ended: func(began int64, limit fetcher.RateLimit, err error) {
			if w.ended++; began != w.clock() || limit.Known == w.panics || (err != nil) != (w.err != nil || w.short || w.panics) {
				panic(fmt.Sprint("told of a call at ", began, limit, err))
			}
		},
		Logger: slog.New(slog.DiscardHandler), Now: func() time.Time { return w.now }})
	return w
}

type prober struct {
	*world
	limit int
}

func (p prober) ProbeLimit() int { return p.limit }

func (p prober) Probe(_ context.Context, as []fetcher.Account) (fetcher.Probe, error) {
	var names []string
	var marks []fetcher.Mark
	for _, a := range as {
		names = append(names, a.Username)
		var slot int
		fmt.Sscan(a.Username, &slot)
		marks = append(marks, p.marks[slot])
	}
	p.asked = append(p.asked, names)
	if p.panics {
		panic("oops")
	}
	if p.short {
		marks = marks[1:]
	}
	return fetcher.Probe{Marks: marks, RateLimit: fetcher.RateLimit{Known: true, Remaining: 7}}, p.err
}

type accountsOf struct{ *world }

func (a accountsOf) Size() int32           { return int32(len(a.marks)) }
func (a accountsOf) Ready(slot int32) bool { return a.ready[slot] }
func (a accountsOf) Account(slot int32) fetcher.Account {
	return fetcher.Account{Username: fmt.Sprint(slot)}
}
func (a accountsOf) Hurry(slot int32, _ int64) { a.hurry = append(a.hurry, slot) }

// call makes one call and gives the accounts that are to be polled at once.
func (w *world) call() []int32 {
	w.now = w.now.Add(10 * time.Second)
	c := w.sweep.Start(w.clock())
	if c == nil {
		return nil
	}
	w.sweep.Make(context.Background(), c)
	w.sweep.Landed(c, w.clock())
	return w.taken()
}

func (w *world) taken() []int32 {
	hurry := w.hurry
	w.hurry = nil
	return hurry
}

func (w *world) clock() int64 { return w.now.UnixNano() }

// polled has a poll find posts published so long ago.
func (w *world) polled(slot int32, ago ...time.Duration) {
	var found []time.Time
	for _, d := range ago {
		found = append(found, w.now.Add(-d))
	}
	w.sweep.Polled(slot, found, false, w.clock())
}

// The best split gives mean waits of (√((1-ε)/k) + √(0.44·ε))² of equal intervals'.
func TestShareIsTheBest(t *testing.T) {
	for _, k := range []int{25, 40, 100} {
		for _, missed := range []float64{0.01, 0.05, 0.2} {
			w := newWorld(1, k, 0)
			for i := range 10_000 { // as many as are remembered, and more
				if math.Mod(float64(i)*missed, 1) < missed {
					w.call()
					w.polled(0, time.Hour)
				} else {
					w.marks[0]++
					w.call()
					w.polled(0, time.Second)
				}
			}
			if got := w.health.Stats().MissRate; math.Abs(got/missed-1) > 0.1 {
				t.Errorf("k %d: miss rate %.3f, want %.3f", k, got, missed)
			}
			want := math.Pow(math.Sqrt((1-missed)/float64(k))+math.Sqrt(0.44*missed), 2) / 0.44
			if got := w.health.Speedup(); math.Abs(got/want-1) > 0.1 {
				t.Errorf("k %d, %.2f missed: mean %.3f of that without probes, want %.3f", k, missed, got, want)
			}
			p := w.health.Share()
			wait := func(p float64) float64 { return (1-missed)/(float64(k)*p) + 0.44*missed/(1-p) }
			if wait(p) > 1.01*min(wait(p*0.9), wait(min(p*1.1, 0.999))) {
				t.Errorf("k %d, %.2f missed: share %.3f is not the best", k, missed, p)
			}
		}
	}
}

func TestSweepGoesRound(t *testing.T) {
	w := newWorld(5, 2, 0)
	w.ready[3] = false
	for range 4 {
		w.call()
	}
	if got, want := fmt.Sprint(w.asked), "[[0 1] [2 4] [0 1] [2 4]]"; got != want {
		t.Errorf("asked for %s, want %s", got, want)
	}
	w.ready = make([]bool, 5)
	if w.call(); len(w.asked) != 4 {
		t.Error("a call was made for no account")
	}
	one := newWorld(1, 5, 0)
	if one.call(); fmt.Sprint(one.asked) != "[[0]]" {
		t.Errorf("asked for %v, want the account once", one.asked)
	}
}

func TestMarks(t *testing.T) {
	w := newWorld(3, 3, 0)
	for _, step := range []struct {
		name  string
		marks []fetcher.Mark
		want  []int32
	}{
		{"the first are only noted", []fetcher.Mark{5, 6, fetcher.NoMark}, nil},
		{"as they were", []fetcher.Mark{5, 6, fetcher.NoMark}, nil},
		{"one has changed", []fetcher.Mark{5, 7, fetcher.NoMark}, []int32{1}},
		{"none is no change", []fetcher.Mark{fetcher.NoMark, 7, 9}, nil},
		{"less is a change, too", []fetcher.Mark{4, 7, 9}, []int32{0}},
	} {
		w.marks = step.marks
		if got := w.call(); !slices.Equal(got, step.want) {
			t.Errorf("%s: %v polled at once, want %v", step.name, got, step.want)
		}
	}
	w.sweep.Forget(0)
	w.sweep.Forget(3) // which it has never seen
	w.marks = []fetcher.Mark{1, 7, 9}
	if got := w.call(); got != nil {
		t.Errorf("a forgotten account's mark was compared: %v", got)
	}
}

// A change that the first poll does not show is polled for once more, and then
// called false, unless a poll of its own accord has explained it.
func TestChangesWithoutAPost(t *testing.T) {
	w := newWorld(1, 1, 0)
	w.call()
	w.marks[0]++
	w.call()
	w.polled(0)
	if w.sweep.Repeat(w.clock()); w.taken() != nil {
		t.Fatal("polled again at once")
	}
	if at := w.sweep.NextAt(); at != w.clock()+int64(1500*time.Millisecond) {
		t.Errorf("the next thing to do is in %s, want 1.5s", time.Duration(at-w.clock()))
	}
	w.now = w.now.Add(2 * time.Second)
	if w.sweep.Repeat(w.clock()); !slices.Equal(w.taken(), []int32{0}) {
		t.Fatal("not polled again")
	}
	w.polled(0)
	if s := w.health.Stats(); s.FalseAlarms != 1 || s.Found != 0 || s.Changes != 1 {
		t.Errorf("%+v, want a false alarm", s)
	}
	w.polled(0, time.Second) // found after the last probe: the mark will follow
	w.marks[0]++
	w.call()
	w.polled(0)
	w.now = w.now.Add(2 * time.Second)
	w.sweep.Repeat(w.clock())
	w.polled(0)
	if s := w.health.Stats(); s.FalseAlarms != 1 || s.Missed != 0 || s.Changes != 2 {
		t.Errorf("%+v, want an explained change", s)
	}
}

// A poll is not repeated when another one has explained the change, nor for an account that is gone.
func TestNoRepeat(t *testing.T) {
	for name, change := range map[string]func(w *world){
		"explained": func(w *world) { w.polled(0, time.Second) },
		"gone":      func(w *world) { w.ready[0] = false },
	} {
		w := newWorld(1, 1, 0)
		w.call()
		w.marks[0]++
		w.call()
		w.polled(0)
		change(w)
		w.now = w.now.Add(2 * time.Second)
		if w.sweep.Repeat(w.clock()); w.taken() != nil {
			t.Errorf("%s: polled again", name)
		}
	}
}

// Posts that a poll found, and that the last probe should have shown, are missed,
// until the mark changes after all.
func TestMisses(t *testing.T) {
	w := newWorld(1, 1, 0)
	w.polled(0, time.Hour) // before there is a mark
	w.call()
	w.sweep.Polled(0, []time.Time{w.now.Add(-time.Hour)}, true, w.clock()) // history
	w.call()
	w.polled(0, -time.Second)
	if s := w.health.Stats(); s.Missed != 0 {
		t.Errorf("%+v, want nothing missed", s)
	}
	w.polled(0, time.Minute, time.Hour)
	if s := w.health.Stats(); s.Missed != 2 {
		t.Errorf("%+v, want 2 missed", s)
	}
	w.marks[0]++
	w.call()
	w.polled(0)
	w.now = w.now.Add(2 * time.Second)
	w.sweep.Repeat(w.clock())
	w.polled(0)
	if s := w.health.Stats(); s.Missed != 1 || s.FalseAlarms != 0 {
		t.Errorf("%+v, want one taken back by a mark that came late", s)
	}
	w.polled(0, time.Hour)
	w.marks[0]++
	w.call()
	w.polled(0, 3*time.Second)
	if s := w.health.Stats(); s.Missed != 2 || s.Found != 1 || s.Lag.Count() != 1 || s.Lag.Max() < 2*time.Second {
		t.Errorf("%+v, want one found", s)
	}
}

// Marks that change for nothing are not followed for long, and are again once they
// have come to mean something.
func TestLiesAreIgnored(t *testing.T) {
	w := newWorld(1, 1, 0)
	follow := func(rounds int, found bool) (polls int) {
		for range rounds {
			w.marks[0]++
			polls += len(w.call())
			if found {
				w.polled(0, time.Second)
				continue
			}
			w.polled(0)
			w.now = w.now.Add(2 * time.Second)
			w.sweep.Repeat(w.clock())
			w.taken()
			w.polled(0)
		}
		return polls
	}
	if n := follow(1000, false); n > 70 {
		t.Errorf("%d of 1,000 changes for nothing were followed, want some 50", n)
	}
	if s := w.health.Stats(); s.Ignored < 900 {
		t.Errorf("%+v", s)
	}
	follow(1000, true) // polls of their own find posts; some changes are followed
	if n := follow(100, true); n < 90 {
		t.Errorf("%d of 100 changes were followed once they meant posts, want nearly all", n)
	}
}

func TestFailures(t *testing.T) {
	w := newWorld(2, 2, 1)
	w.call()
	w.marks[0]++
	for name, fail := range map[string]func(){
		"error":         func() { w.err = errors.New("no") },
		"a limit":       func() { w.err = &fetcher.RateLimitError{RetryAfter: time.Minute} },
		"missing marks": func() { w.err, w.short = nil, true },
		"a panic":       func() { w.err, w.short, w.panics = nil, false, true },
	} {
		fail()
		if got := w.call(); got != nil {
			t.Errorf("%s: %v polled", name, got)
		}
		w.err, w.short, w.panics = nil, false, false
		if w.sweep.Due(w.clock()) {
			t.Errorf("%s: the next call is due at once", name)
		}
		if name == "a limit" && w.sweep.Due(w.clock()+int64(59*time.Second)) {
			t.Error("the limit's wait is not kept")
		}
		w.now = w.now.Add(2 * time.Minute)
	}
	if got := w.call(); !slices.Equal(got, []int32{0}) {
		t.Errorf("after the failures %v polled, want what changed meanwhile", got)
	}
	if s := w.health.Stats(); s.Errors != 4 || s.Calls != 6 || w.ended != 6 {
		t.Errorf("%+v, %d told to have ended", s, w.ended)
	}
	w.err = fmt.Errorf("no such call: %w", fetcher.ErrUnsupported)
	w.call()
	if w.sweep.Due(w.clock() + int64(time.Hour)) {
		t.Error("a platform without probes is probed again")
	}
}

// A faster rate brings the next call forward, a slower one counts from then on, and none has no call.
func TestRateChanges(t *testing.T) {
	w := newWorld(1, 1, 1)
	w.call()
	for _, step := range []struct {
		rate float64
		next time.Duration
	}{{2, 500 * time.Millisecond}, {0.1, 500 * time.Millisecond}, {0, 1e9 * time.Second}, {1, time.Second}} {
		if w.sweep.SetRate(step.rate, w.clock()); w.sweep.NextAt() != w.clock()+int64(step.next) {
			t.Errorf("at %g calls a second the next one is in %s, want %s", step.rate, time.Duration(w.sweep.NextAt()-w.clock()), step.next)
		}
	}
}

// A rate that changes, as a fleet's grants do, ends no wait that the platform asked for.
func TestRateChangesDuringALimit(t *testing.T) {
	w := newWorld(5, 2, 1)
	w.err = &fetcher.RateLimitError{RetryAfter: 15 * time.Minute}
	w.call()
	w.err = nil
	for _, rate := range []float64{0.9, 0, 2} {
		w.sweep.SetRate(rate, w.clock())
		if at := w.sweep.NextAt(); at < w.clock()+int64(15*time.Minute) || w.sweep.Due(w.clock()+int64(14*time.Minute)) {
			t.Errorf("at %g calls a second the next one is %s after a limit of 15 min", rate, time.Duration(at-w.clock()))
		}
	}
	if at := w.sweep.NextAt(); at != w.clock()+int64(15*time.Minute) {
		t.Errorf("the next call is %s after a limit of 15 min", time.Duration(at-w.clock()))
	}
	w.now = w.now.Add(15*time.Minute + time.Second)
	if !w.sweep.Due(w.clock()) {
		t.Error("no call is due when the limit is over")
	}
}

// Lags of less than a second are told.
func TestLagIsFinerThanASecond(t *testing.T) {
	w := newWorld(1, 1, 0)
	w.now = w.now.Add(100 * time.Millisecond) // off the whole second
	w.call()
	w.marks[0]++
	w.call()
	w.polled(0, 300*time.Millisecond)
	if lag := w.health.Stats().Lag; lag.Count() != 1 || lag.Max() < 270*time.Millisecond || lag.Max() > 330*time.Millisecond {
		t.Errorf("lag %s, want 300 ms", lag)
	}
}
