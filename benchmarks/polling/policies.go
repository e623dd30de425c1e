package main

import (
	"math"
	"math/rand/v2"
	"unsafe"

	"github.com/streamwatch/streamwatch/internal/due"
	"github.com/streamwatch/streamwatch/internal/pace"
)

// A contestant makes a fresh policy for a replay. bytes is its state of an
// account, the due structure included.
type contestant struct {
	name  string
	bytes int
	fresh func() (policy, error)
}

// queueBytes is what due.Queue keeps of an account: 8 bytes and its place.
const queueBytes = 12

func contestants(a *history, budget float64) []contestant {
	n := len(a.posts)
	share := float64(n) / budget // seconds: everybody's interval when all are equal
	return []contestant{
		{"streamwatch", pace.BytesPerAccount, func() (policy, error) { return newPaced(n, budget) }},
		{"fixed interval", 0, func() (policy, error) { return &inTurn{n: int32(n)}, nil }},
		{"feed reader", int(unsafe.Sizeof(week{})) + 8 + queueBytes, func() (policy, error) { return newFeedReader(a, share), nil }},
		{"back-off", 8 + queueBytes, func() (policy, error) { return newBackOff(n, share), nil }},
		{"hindsight root", 8 + queueBytes, func() (policy, error) { return newHindsight(a, budget), nil }},
		{"streamwatch, calls saved for 5 min", pace.BytesPerAccount, func() (policy, error) { return newSaving(n, budget, 300) }},
	}
}

// paced is the project's own.
type paced struct{ p *pace.Pacer }

func newPaced(n int, budget float64) (policy, error) {
	p, err := pace.New(budget)
	if err != nil {
		return nil, err
	}
	for i := range n {
		if err := p.Resume(int32(i), 0, 0, pace.Account{}); err != nil {
			return nil, err
		}
	}
	return paced{p}, nil
}

func (p paced) next(now int64) (int32, bool) { return p.p.Next(now) }

func (p paced) found(account int32, now int64, posts []int64) {
	if _, err := p.p.Observe(account, now, posts); err != nil {
		panic(err) // the replay polls only known accounts
	}
}

// saving is the project's own with calls saved.
type saving struct {
	paced
	calls float64
}

func newSaving(n int, budget, seconds float64) (policy, error) {
	p, err := newPaced(n, budget)
	if err != nil {
		return nil, err
	}
	return saving{p.(paced), max(1, budget*seconds)}, nil
}

func (p saving) most() float64 { return p.calls }

func (p saving) due(now int64) bool {
	at, ok := p.p.DueAt(now)
	return ok && at <= now
}

// inTurn polls all accounts equally often.
type inTurn struct{ n, turn int32 }

func (p *inTurn) next(int64) (int32, bool) {
	account := p.turn
	p.turn = (account + 1) % p.n
	return account, true
}

func (p *inTurn) found(int32, int64, []int64) {}

// intervals polls whoever is due first, also ahead of time, and leaves it to
// adapt what the next interval of an account is, in seconds.
type intervals struct {
	queue due.Queue
	every []float64
	adapt func(account int32, now int64, posts int) float64
	ahead bool // the interval counts from the poll, else from when it was due
	due   int64
}

func (p *intervals) next(int64) (int32, bool) {
	account, at, ok := p.queue.Next()
	p.due = at
	return account, ok
}

func (p *intervals) found(account int32, now int64, posts []int64) {
	every := p.adapt(account, now, len(posts))
	p.every[account] = every
	from := p.due
	if p.ahead {
		from = now
	}
	p.queue.Set(account, from+int64(min(every, 1e9)*1e9))
}

// newBackOff cuts an account's interval in half when a poll finds something, and
// lengthens it by 2 % when not, between a tenth and twice an equal share: wider
// bounds did worse.
func newBackOff(n int, share float64) policy {
	p := &intervals{every: make([]float64, n), ahead: true}
	p.adapt = func(account int32, _ int64, posts int) float64 {
		if posts > 0 {
			return max(share/10, p.every[account]/2)
		}
		return min(share*2, p.every[account]*1.02)
	}
	p.start(share)
	return p
}

func (p *intervals) start(share float64) {
	for i := range p.every {
		p.every[i] = share
		p.queue.Set(int32(i), int64(i))
	}
}

// week counts an account's posts of the last seven days, by day.
type week struct {
	posts [7]int32
	day   int32
}

func (w *week) add(today int32, posts int) float64 {
	for ; w.day < today; w.day++ {
		w.posts[(w.day+1)%7] = 0
	}
	w.posts[today%7] += int32(posts)
	var sum int32
	for _, n := range w.posts {
		sum += n
	}
	return float64(sum)
}

// newFeedReader is what feed readers do: an interval inversely proportional to
// the posts of the last week, at least one. All of them are scaled to the
// budget: polling whoever is due first, also ahead of time, uses all of it, and
// the scale is that at which a week of the mean rate means an equal share.
func newFeedReader(a *history, share float64) policy {
	n := len(a.posts)
	weeks := make([]week, n)
	active := make([]float64, n) // posts a week, at least 1
	total := float64(n)
	for i := range active {
		active[i] = 1
	}
	p := &intervals{every: make([]float64, n), ahead: true}
	p.adapt = func(account int32, now int64, posts int) float64 {
		is := max(1, weeks[account].add(int32(now/day), posts))
		total += is - active[account]
		active[account] = is
		return share * total / float64(n) / is // Σ 1/interval is the budget
	}
	p.start(share)
	return p
}

// newHindsight polls evenly, in proportion to the root of the rate that an
// account turns out to have over the whole time; never where nothing comes.
func newHindsight(a *history, budget float64) policy {
	p := &intervals{every: make([]float64, len(a.posts))}
	p.adapt = func(account int32, _ int64, _ int) float64 { return p.every[account] }
	var roots float64
	for _, posts := range a.posts {
		roots += math.Sqrt(float64(len(posts)))
	}
	rng := rand.New(rand.NewPCG(1, 1))
	for i, posts := range a.posts {
		if len(posts) == 0 {
			continue
		}
		p.every[i] = roots / math.Sqrt(float64(len(posts))) / budget
		p.queue.Set(int32(i), int64(rng.Float64()*p.every[i]*1e9))
	}
	return p
}
