package pace

import (
	"fmt"
	"math"
	"time"
	"unsafe"

	"github.com/streamwatch/streamwatch/detect/due"
)

// Config is what holds for all accounts of a bucket.
type Config struct {
	Budget  float64       // requests a second, above 0
	Floor   time.Duration // least time between two polls of an account. Defaults to 1 s
	Ceiling time.Duration // most time that is planned between them. Defaults to 2.4 × accounts / Budget
}

// Account is what one account asks for. The zero value is an ordinary one.
type Account struct {
	Weight float64       // how much a post's delay counts; weights of several monitors add up. Defaults to 1
	Min    time.Duration // Defaults to Config.Floor
	Max    time.Duration // at least Min. Defaults to Config.Ceiling
}

// state is what is kept of an account: no pointers, seconds unless said.
type state struct {
	last     int64   // nanoseconds: the last successful poll, or Add
	planned  float32 // the interval chosen then
	fast     float32 // posts, decayed with tauFast
	slow     float32 // posts, decayed with tauSlow
	observed float32 // seconds observed, decayed with tauSlow
	weight   float32
	min, max float32 // 0: the configured default
	status   status
}

// BytesPerAccount is what a Pacer keeps of an account: its state, the entry in
// one of the two heaps, and the position in each.
const BytesPerAccount = int(unsafe.Sizeof(state{})) + 16 + 2*4

// status says where an account stands and what its next poll tells of the price.
type status uint32

const (
	absent  status = iota
	unsure         // no lesson: the first poll, or one after a failure
	planned        // by the price
	capped         // the price asked for a longer interval
	floored        // the price asked for a shorter interval
)

// defaultCeiling is the default longest interval as a multiple of an equal share.
const defaultCeiling = 2.4

// longest bounds every interval, in seconds, so that due times do not overflow.
const longest = 1e8

// Pacer paces the polls of one bucket. It is not safe for concurrent use.
type Pacer struct {
	cfg      Config
	accounts []state
	n        int     // accounts present
	price    float64 // ln ν, ν in seconds
	kappa    float64 // how fast the price follows

	ready   due.Heap // may be polled, by planned time
	resting due.Heap // within Min or a back-off, by its end

	posts, seconds float64 // of all accounts ever: the rate a new one starts from

	demand    float64 // Σ 1/max of the accounts with a Max of their own
	demanding int
}

// New checks cfg and gives a Pacer without accounts.
func New(cfg Config) (*Pacer, error) {
	if cfg.Floor == 0 {
		cfg.Floor = time.Second
	}
	switch {
	case !(cfg.Budget > 0) || math.IsInf(cfg.Budget, 1):
		return nil, fmt.Errorf("pace: Config.Budget %g is not allowed: want requests a second, above 0", cfg.Budget)
	case cfg.Floor < 0:
		return nil, fmt.Errorf("pace: Config.Floor %s is not allowed: want 0 or more", cfg.Floor)
	case cfg.Ceiling < 0 || cfg.Ceiling > 0 && cfg.Ceiling < cfg.Floor:
		return nil, fmt.Errorf("pace: Config.Ceiling %s is not allowed: want 0, or at least the Floor %s", cfg.Ceiling, cfg.Floor)
	}
	return &Pacer{cfg: cfg, kappa: 0.3, posts: 1, seconds: 86_400}, nil
}

// Add begins to pace an account, whose first poll is due at once. It is an
// error when the slot is taken or negative, or the account is not allowed.
func (p *Pacer) Add(slot int32, now int64, a Account) error {
	if slot < 0 {
		return fmt.Errorf("pace: slot %d is not allowed: want 0 or more", slot)
	}
	if p.has(slot) {
		return fmt.Errorf("pace: slot %d is taken", slot)
	}
	if err := p.check(a); err != nil {
		return err
	}
	for int(slot) >= len(p.accounts) {
		p.accounts = append(p.accounts, state{})
	}
	p.resize(p.n + 1)
	s := &p.accounts[slot]
	*s = state{last: now, status: unsure}
	p.limit(s, a)
	p.ready.Set(slot, now)
	return nil
}

// Update replaces what an account asks for. It takes effect with the plan that
// the next successful poll makes, and Max at once.
func (p *Pacer) Update(slot int32, a Account) error {
	if !p.has(slot) {
		return fmt.Errorf("pace: slot %d is not in use", slot)
	}
	if err := p.check(a); err != nil {
		return err
	}
	s := &p.accounts[slot]
	p.unlimit(s)
	p.limit(s, a)
	if most := p.max(s); float64(s.planned) > most {
		s.planned, s.status = float32(most), unsure
		if p.ready.Has(slot) {
			p.ready.Set(slot, p.due(s))
		}
	}
	return nil
}

// Remove forgets an account, also while it is polled. A slot not in use is left
// alone.
func (p *Pacer) Remove(slot int32) {
	if !p.has(slot) {
		return
	}
	p.ready.Remove(slot)
	p.resting.Remove(slot)
	p.unlimit(&p.accounts[slot])
	p.accounts[slot] = state{}
	p.resize(p.n - 1)
}

// Next takes out the account to poll now: the one due first, even when that
// lies in the future, of those that may be polled. The caller then calls
// Observe, Fail or Remove for it. ok is false when no account may be polled.
func (p *Pacer) Next(now int64) (slot int32, ok bool) {
	for {
		rested, at, any := p.resting.Next()
		if !any || at > now {
			break
		}
		p.resting.Remove(rested)
		p.ready.Set(rested, p.due(&p.accounts[rested]))
	}
	slot, _, ok = p.ready.Next()
	if ok {
		p.ready.Remove(slot)
	}
	return slot, ok
}

// NextAt is when Next will have an account to give, in the past when it has one
// already; ok is false when all are being polled.
func (p *Pacer) NextAt() (at int64, ok bool) {
	if _, _, any := p.ready.Next(); any {
		return math.MinInt64, true
	}
	_, at, ok = p.resting.Next()
	return at, ok
}

// Fail puts an account back that could not be polled. It rests until the given
// time; what was learnt, its age and the price stay as they are.
func (p *Pacer) Fail(slot int32, until int64) {
	if !p.has(slot) {
		return
	}
	s := &p.accounts[slot]
	s.status = unsure
	p.ready.Remove(slot)
	p.resting.Set(slot, until)
}

// Demand is the requests a second that the Max of all accounts ask for. Above
// Config.Budget they can not be kept, and polls come late by the same share.
func (p *Pacer) Demand() float64 {
	others := float64(p.n - p.demanding)
	if others == 0 {
		return p.demand
	}
	return p.demand + others/p.ceiling()
}

func (p *Pacer) has(slot int32) bool {
	return slot >= 0 && int(slot) < len(p.accounts) && p.accounts[slot].status != absent
}

func (p *Pacer) due(s *state) int64 { return s.last + int64(float64(s.planned)*1e9) }
func (p *Pacer) share() float64     { return float64(p.n) / p.cfg.Budget }

func (p *Pacer) ceiling() float64 {
	if p.cfg.Ceiling > 0 {
		return p.cfg.Ceiling.Seconds()
	}
	return min(max(defaultCeiling*p.share(), p.cfg.Floor.Seconds()), longest)
}

func (p *Pacer) min(s *state) float64 {
	if s.min > 0 {
		return float64(s.min)
	}
	return p.cfg.Floor.Seconds()
}

func (p *Pacer) max(s *state) float64 {
	if s.max > 0 {
		return float64(s.max)
	}
	return max(p.ceiling(), p.min(s))
}

func (p *Pacer) check(a Account) error {
	least := a.Min
	if least == 0 {
		least = p.cfg.Floor
	}
	switch {
	case !(a.Weight >= 0) || math.IsInf(a.Weight, 1):
		return fmt.Errorf("pace: Account.Weight %g is not allowed: want 0 for 1, or more", a.Weight)
	case a.Min < 0:
		return fmt.Errorf("pace: Account.Min %s is not allowed: want 0 or more", a.Min)
	case a.Max < 0 || a.Max > 0 && a.Max < least:
		return fmt.Errorf("pace: Account.Max %s is not allowed: want 0, or at least the Min %s", a.Max, least)
	}
	return nil
}

func (p *Pacer) limit(s *state, a Account) {
	s.weight = 1
	if a.Weight > 0 {
		s.weight = float32(a.Weight)
	}
	s.min, s.max = float32(a.Min.Seconds()), float32(a.Max.Seconds())
	if s.max > 0 {
		p.demanding++
		p.demand += 1 / float64(s.max)
	}
}

func (p *Pacer) unlimit(s *state) {
	if s.max == 0 {
		return
	}
	p.demanding--
	p.demand -= 1 / float64(s.max)
	if p.demanding == 0 {
		p.demand = 0 // no rounding is carried along
	}
}

func (p *Pacer) Has(slot int32) bool { return p.has(slot) }
func (p *Pacer) Hurry(slot int32, now int64) {
	p.resting.Remove(slot)
	p.ready.Set(slot, 0)
}

func (p *Pacer) Rate(slot int32) float64 { return 0 }
