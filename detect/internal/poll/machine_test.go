package poll

import (
	"strings"
	"testing"
	"time"
)

// A cursor of a megabyte is let go with its poll.
func TestEndedPollsKeepNoCursors(t *testing.T) {
	m := NewMachine(&Env{}, &Times{}, Traits{}, nil, nil)
	p := m.newPoll()
	p.Out.cursors = append(p.Out.cursors, strings.Repeat("x", 1<<20))
	p.Out.Pages = append(p.Out.Pages, Page{})
	m.reuse(p)
	if again := m.newPoll(); again != p || cap(again.Out.cursors) == 0 {
		t.Fatal("the poll is not used again")
	}
	for _, c := range p.Out.cursors[:cap(p.Out.cursors)] {
		if c != "" {
			t.Errorf("%d bytes of a cursor are kept by a poll that has ended", len(c))
		}
	}
}

func TestCutStampsCountForWhatTheyStandFor(t *testing.T) {
	at := func(s string) time.Time {
		v, err := time.Parse(time.RFC3339Nano, s)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	for _, row := range []struct {
		published, since string
		before           bool
	}{
		{"2026-01-02T03:04:05.123Z", "2026-01-02T03:04:05.1234567Z", false}, // the same millisecond
		{"2026-01-02T03:04:05.122Z", "2026-01-02T03:04:05.1234567Z", true},
		{"2026-01-02T03:04:05Z", "2026-01-02T03:04:05.9Z", false}, // the same second
		{"2026-01-02T03:04:04Z", "2026-01-02T03:04:05.0Z", true},
		{"2026-01-02T03:04:05.124Z", "2026-01-02T03:04:05.123Z", false},
	} {
		if got := before(at(row.published), at(row.since)); got != row.before {
			t.Errorf("published %s is before %s: %v, want %v", row.published, row.since, got, row.before)
		}
	}
}

// Of too many gaps the oldest two are one, from the beginning of either to the end of either,
// which is read on from where the later one is.
func TestGapsAreBounded(t *testing.T) {
	at := func(s int) time.Time { return time.Unix(int64(s), 0) }
	for _, row := range []struct{ first, second, want Gap }{
		{Gap{From: at(0), To: at(5), Resume: "a"}, Gap{From: at(7), To: at(9), Resume: "b"}, Gap{From: at(0), To: at(9), Resume: "b"}},
		{Gap{From: at(2), To: at(9), Resume: "a"}, Gap{From: at(1), To: at(5), Resume: "b"}, Gap{From: at(1), To: at(9), Resume: "a"}},
	} {
		gaps := []Gap{row.first, row.second}
		for i := range MaxGaps - 1 {
			gaps = addGap(gaps, Gap{From: at(10 * i), To: at(10*i + 5)})
		}
		if len(gaps) != MaxGaps || gaps[0] != row.want || !gaps[MaxGaps-1].From.Equal(at(10*(MaxGaps-2))) {
			t.Errorf("%d gaps, the first %+v, want %d and %+v", len(gaps), gaps[0], MaxGaps, row.want)
		}
	}
}

// A new process gives up the gaps that are too old.
func TestRestoredGapsFromBeforeTheHorizonStayOpen(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	env := &Env{Horizon: time.Hour, Now: func() time.Time { return now }, Clock: func() int64 { return 0 }}
	gaps := []Gap{{To: now.Add(-2 * time.Hour), Resume: "a"}, {To: now.Add(-time.Hour), Resume: "b"}}
	m := NewMachine(env, &Times{}, Traits{Resumes: true}, &one{}, nil)
	m.Restore(0, gaps)
	if got := m.targets.At(0).Gaps(); got[0].Resume != "" || got[1].Resume != "b" {
		t.Errorf("%q and %q can be read, want the second alone", got[0].Resume, got[1].Resume)
	}
	if gaps[0].Resume != "a" {
		t.Error("the gaps of a cursor were changed in place")
	}
}

// The gaps of a target that is being polled are not given up: the poll may replace them
// once it is committed. The target's turn comes again.
func TestGapsAreGivenUpBetweenPolls(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	env := &Env{Horizon: time.Hour, Now: func() time.Time { return now }, Clock: func() int64 { return int64(fillWait) }, Epoch: now}
	m := NewMachine(env, &Times{}, Traits{Resumes: true}, &one{}, nil)
	m.Restore(0, []Gap{{To: now, Resume: "a"}})
	now = now.Add(2 * time.Hour)
	for _, busy := range []bool{true, false} {
		if p := m.StartFill(func(int32) bool { return busy }); p != nil {
			t.Fatalf("busy %v: a gap from before the horizon is read", busy)
		}
		_, _, again := m.FillTurn(false, 0)
		if open := env.Count.Stats().OpenGaps == 1; open != busy || again != busy {
			t.Errorf("busy %v: open %v, tried again %v", busy, open, again)
		}
	}
}

// one has a single target.
type one struct {
	Targets
	target Target
}

func (o *one) At(int32) *Target { return &o.target }
