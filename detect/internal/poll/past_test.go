package poll

import (
	"errors"
	"strings"
	"testing"
	"time"
)

func TestPast(t *testing.T) {
	const ms = time.Millisecond
	begun := time.UnixMilli(1_772_000_000_000)
	end := begun.Add(4000 * ms)
	ago := func(all ...time.Duration) (found []time.Time) {
		for _, d := range all {
			found = append(found, end.Add(-d))
		}
		return found
	}
	for _, row := range []struct {
		name string
		set  func(*Poll)
		err  error // of the commit
		want Past  // beside what all have
	}{
		{"nothing was found", func(*Poll) {}, nil, Past{}},
		{"two posts", func(p *Poll) { p.Found = ago(1000*ms, 3000*ms) }, nil, Past{Found: 2, Delay: 2000 * ms, LongestWait: 3000 * ms}},
		{"a post of the future", func(p *Poll) { p.Found = ago(-1000 * ms) }, nil, Past{Found: 1}},
		{"the first poll finds history", func(p *Poll) { p.Found, p.Plan.First = ago(1000*ms), true }, nil, Past{Found: 1, First: true}},
		{"so does one that reads a gap", func(p *Poll) { p.Found, p.Plan.Gap = ago(1000*ms), &Gap{} }, nil, Past{Found: 1, Fill: true}},
		{"a gap", func(p *Poll) { p.Opened = &Gap{} }, nil, Past{Gap: true}},
		{"of a stream", func(p *Poll) { p.Plan.Pushed = true }, nil, Past{Pushed: true}},
		{"it failed", func(p *Poll) { p.Out.Err = errors.New("down") }, nil, Past{Error: "down"}},
		{"its commit failed", func(p *Poll) { p.Out.Err = errors.New("down") }, errors.New("disk full"), Past{Error: "disk full"}},
		{"a long error", func(*Poll) {}, errors.New(strings.Repeat("x", 900)), Past{Error: strings.Repeat("x", pastError)}},
	} {
		t.Run(row.name, func(t *testing.T) {
			p := &Poll{Hash: 7, At: begun.Add(-30 * ms)}
			p.Out.Begun, p.Out.Pages = begun, []Page{{At: begun.Add(20 * ms)}, {At: begun.Add(50 * ms)}}
			row.set(p)
			row.want.Begun, row.want.Due, row.want.Read, row.want.Took = begun, begun.Add(-30*ms), 50*ms, 4000*ms
			var m Memory
			m.add(p, end, row.err)
			if got := m.Past(7); len(got) != 1 || got[0] != row.want {
				t.Errorf("%+v, want %+v", got, row.want)
			}
		})
	}
}

// The last polls are remembered, newest first: those that found something beside the others.
func TestMemoryOfPolls(t *testing.T) {
	var m Memory
	begun := time.UnixMilli(1_772_000_000_000)
	add := func(hash uint64, slot int32, delays ...time.Duration) {
		begun = begun.Add(time.Second)
		p := &Poll{Hash: hash, Slot: slot, At: begun}
		p.Out.Begun = begun
		for _, d := range delays {
			p.Found = append(p.Found, begun.Add(-d))
		}
		m.add(p, begun, nil)
	}
	add(1, 5, time.Second)
	add(1, 5, 4*time.Second, 4*time.Second)
	for range Remembered + 3 {
		add(1, 5)
	}
	add(2, 6)
	if past := m.Past(1); len(past) != maxPast || !past[0].Begun.Equal(begun.Add(-time.Second)) || !past[1].Begun.Equal(begun.Add(-2*time.Second)) {
		t.Errorf("%d polls, the newest of %v", len(past), past[0].Begun)
	}
	if n := len(m.quiet.list); n != Remembered {
		t.Errorf("%d polls are remembered that found nothing, want %d", n, Remembered)
	}
	delays := map[int32]time.Duration{}
	m.Delays(func(slot int32, hash uint64, mean time.Duration) { delays[slot] = mean + time.Duration(hash) })
	if len(delays) != 1 || delays[5] != 3*time.Second+1 {
		t.Errorf("delays %v, want the mean of three posts of slot 5", delays)
	}
}
