package pace

import (
	"fmt"
	"math"
	"time"
	"unsafe"

	"github.com/streamwatch/streamwatch/internal/due"
)

// Config is what holds for all accounts of a bucket.
type Config struct {
	Budget  float64       // requests a second, above 0
	Floor   time.Duration // least time between two polls of an account. Defaults to 1 s
	Ceiling time.Duration // most time that is planned between them. Defaults to 2.2 × accounts / Budget

	// OthersDelay bounds the mean delay of posts of the other accounts, as a
	// multiple of that of a fixed interval, where eager accounts would let them
	// wait longer: those whose polls nearly always find posts. Beyond it the
	// intervals of eager accounts are lengthened, at most to an equal share and to
	// their Max. At least 1. Defaults to 1.1.
	OthersDelay float64
	// OwnerSurplus is the most that an owner draws of the budget beyond its
	// accounts' equal shares, as a part of the other owners' equal shares, above
	// 0: an owner of a tenth of the accounts draws at most 0.1 + 0.9 × OwnerSurplus
	// of it. It also holds where a short Max asks for more, which is then not kept;
	// but no interval is lengthened beyond the Ceiling. Polls that others leave
	// over count little. 1 is for no cap. Defaults to 0.17.
	OwnerSurplus float64
}

// Account is what one account asks for. The zero value is an ordinary one.
type Account struct {
	Weight float64       // how much a post's delay counts; weights of several monitors add up. Defaults to 1
	Min    time.Duration // Defaults to Config.Floor
	Max    time.Duration // at least Min. Defaults to Config.Ceiling
	Owner  string        // whose it is, for Config.OwnerSurplus: any name
}

// state is what is kept of an account: no pointers, seconds unless said.
type state struct {
	last     int64   // nanoseconds: the last successful poll, or Add
	fast     float32 // posts, decayed with tauFast
	slow     float32 // posts, decayed with tauSlow
	observed float32 // seconds observed, decayed with tauSlow
	weight   short
	min, max short // 0: the configured default
	days     daily // when within the day it posts
	planned  short // the interval chosen at last
	profile        // when within the hour it posts
	status   status
	hits     uint8 // the part of its polls of late that found posts: see notice
}

// BytesPerAccount is what a Pacer keeps of an account: its state, the entry in
// one of the three queues, and the place in each.
const BytesPerAccount = int(unsafe.Sizeof(state{})) + 8 + 3*4

// short is a number from 0 on, rounded down to nine significant bits: the upper
// half of a float32 without its sign.
type short uint16

func shorten(x float64) short  { return short(math.Float32bits(float32(x)) >> 15) }
func (x short) value() float64 { return float64(math.Float32frombits(uint32(x) << 15)) }

// shortenUp is shorten that rounds up.
func shortenUp(x float64) short {
	y := shorten(x)
	if y.value() < x {
		y++
	}
	return y
}

// status says where an account stands and what its next poll tells of the price:
// something from planned on.
type status uint8

const (
	absent       status = iota
	unsure              // the first poll, or after a bound was changed
	failed              // backs off, or did before its next poll
	hurried             // goes first
	hurriedAside        // goes first when its back-off is over
	planned             // by the price
	capped              // the price asked for a longer interval
	floored             // the price asked for a shorter interval
)

// defaultCeiling is the default longest interval as a multiple of an equal
// share: a longer one gains little of the mean, at the cost of who rarely posts.
const defaultCeiling = 2.2

// longest bounds every interval, in seconds, so that due times do not overflow.
const longest = 1e8

// Pacer paces the polls of one bucket. It is not safe for concurrent use.
type Pacer struct {
	cfg      Config
	accounts []state
	n        int     // accounts present
	price    float64 // ln ν, ν in seconds
	kappa    float64 // how fast the price follows
	lastTurn int64   // see turn
	bound    float64 // share of the polls, of late, whose plan was at a bound

	lag float64 // seconds that polls planned for the end of a Max of their own come late, see learnLag

	ready   due.Queue // may be polled, by planned time
	overdue due.Queue // may be polled, and late by patience, by the end of its Max
	resting due.Queue // within Min or a back-off, by its end

	record         record
	crowd          crowd
	habit          habit
	gain           gain
	restraint      float64 // see restrain
	posts, seconds float64 // of all accounts ever: the rate a new one starts from

	owners     []owner
	ownerIndex map[string]int32 // by name
	freeOwners []int32
	ownerOf    []int32 // by slot; nil as long as all are of the first
	polls      float64 // successful ones, ever

	weights   float64 // of all accounts
	tilts     float64 // Σ weight^exponent
	demand    float64 // Σ 1/max of the accounts with a Max of their own
	demanding int
}

// New checks cfg and gives a Pacer without accounts.
func New(cfg Config) (*Pacer, error) {
	if cfg.Floor == 0 {
		cfg.Floor = time.Second
	}
	if cfg.OthersDelay == 0 {
		cfg.OthersDelay = 1.1
	}
	if cfg.OwnerSurplus == 0 {
		cfg.OwnerSurplus = 0.17
	}
	if err := checkBudget("Config.Budget", cfg.Budget); err != nil {
		return nil, err
	}
	switch {
	case cfg.Floor < 0:
		return nil, fmt.Errorf("pace: Config.Floor %s is not allowed: want 0 or more", cfg.Floor)
	case cfg.Ceiling < 0 || cfg.Ceiling > 0 && cfg.Ceiling < cfg.Floor:
		return nil, fmt.Errorf("pace: Config.Ceiling %s is not allowed: want 0, or at least the Floor %s", cfg.Ceiling, cfg.Floor)
	case !(cfg.OthersDelay >= 1):
		return nil, fmt.Errorf("pace: Config.OthersDelay %g is not allowed: want 0 for 1.1, or at least 1", cfg.OthersDelay)
	case !(cfg.OwnerSurplus > 0 && cfg.OwnerSurplus <= 1):
		return nil, fmt.Errorf("pace: Config.OwnerSurplus %g is not allowed: want 0 for 0.17, or more and at most 1", cfg.OwnerSurplus)
	}
	return &Pacer{cfg: cfg, kappa: 0.3, posts: 1, seconds: 86_400}, nil
}

// Add begins to pace an account, whose first poll is due at once: see Hurry. It is an
// error when the slot is taken, negative or beyond due.MaxSlots, or the account is
// not allowed.
func (p *Pacer) Add(slot int32, now int64, a Account) error {
	if slot < 0 || slot >= due.MaxSlots {
		return fmt.Errorf("pace: slot %d is not allowed: want 0 to %d", slot, due.MaxSlots-1)
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
	p.join(slot, a.Owner)
	p.ready.Set(slot, p.turn(now))
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
	if p.owner(slot).name != a.Owner {
		p.leave(slot)
		p.join(slot, a.Owner)
	}
	if most := p.stretched(slot, p.max(s)); s.planned.value() > most {
		s.planned = shorten(most)
		switch s.status {
		case hurried, hurriedAside:
			return nil // goes first, and is not overdue
		case failed:
		default:
			s.status = unsure
		}
		if p.ready.Has(slot) {
			p.ready.Set(slot, p.due(s))
		}
	}
	if p.overdue.Has(slot) {
		p.overdue.Set(slot, p.deadline(slot, s))
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
	p.overdue.Remove(slot)
	p.resting.Remove(slot)
	p.unlimit(&p.accounts[slot])
	p.leave(slot)
	p.accounts[slot] = state{}
	p.resize(p.n - 1)
}

// SetBudget replaces Config.Budget, in requests a second. Plans already made
// stay, and are polled earlier or later by about the same factor.
func (p *Pacer) SetBudget(perSecond float64) error {
	if err := checkBudget("budget", perSecond); err != nil {
		return err
	}
	p.price += math.Log(p.cfg.Budget/perSecond) / exponent
	p.cfg.Budget = perSecond
	return nil
}

func checkBudget(name string, perSecond float64) error {
	if !(perSecond > 0) || math.IsInf(perSecond, 1) {
		return fmt.Errorf("pace: %s %g is not allowed: want requests a second, above 0", name, perSecond)
	}
	return nil
}

// Rate is the estimate of an account's posts a second as of its last poll, the
// mean over the hour; 0 for a slot not in use.
func (p *Pacer) Rate(slot int32) float64 {
	if !p.has(slot) {
		return 0
	}
	return p.rate(&p.accounts[slot])
}

// LongestGap is how long ago the last successful poll is of the account that
// waits longest, or its Add, and the largest share of its Max that any account
// has waited: above 1 a bound is not kept. It looks at every account.
func (p *Pacer) LongestGap(now int64) (gap time.Duration, share float64) {
	for i := range p.accounts {
		if s := &p.accounts[i]; s.status != absent {
			waited := max(0, time.Duration(now-s.last))
			gap = max(gap, waited)
			share = max(share, waited.Seconds()/p.max(s))
		}
	}
	return gap, share
}

// Demand is the requests a second that the Max of all accounts ask for. Above
// Config.Budget they cannot be kept, and polls come late by the same time. Below it
// a Max is not kept either where its owner draws more than Config.OwnerSurplus
// allows: Demand counts it all the same.
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

func (p *Pacer) due(s *state) int64 {
	return s.last + int64(max(s.planned.value(), p.min(s))*1e9)
}

func (p *Pacer) share() float64 { return float64(p.n) / p.cfg.Budget }

func (p *Pacer) ceiling() float64 {
	if p.cfg.Ceiling > 0 {
		return p.cfg.Ceiling.Seconds()
	}
	return min(max(defaultCeiling*p.share(), p.cfg.Floor.Seconds()), longest)
}

func (p *Pacer) min(s *state) float64 {
	if s.min > 0 {
		return s.min.value()
	}
	return p.cfg.Floor.Seconds()
}

func (p *Pacer) max(s *state) float64 {
	if s.max > 0 {
		return s.max.value()
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

// Weights beyond these count as these.
const leastWeight, mostWeight = 1e-30, 1e30

func (p *Pacer) limit(s *state, a Account) {
	s.weight = shorten(1)
	if a.Weight > 0 {
		s.weight = shorten(max(leastWeight, min(mostWeight, a.Weight)))
	}
	p.weights += s.weight.value()
	p.tilts += math.Pow(s.weight.value(), exponent)
	s.min, s.max = shortenUp(a.Min.Seconds()), 0
	if a.Max > 0 {
		s.max = max(shorten(a.Max.Seconds()), s.min)
	}
	if s.max > 0 {
		p.demanding++
		p.demand += 1 / s.max.value()
	}
}

func (p *Pacer) unlimit(s *state) {
	p.weights -= s.weight.value()
	p.tilts -= math.Pow(s.weight.value(), exponent)
	if s.max == 0 {
		return
	}
	p.demanding--
	p.demand -= 1 / s.max.value()
	if p.demanding == 0 {
		p.demand = 0 // no rounding is carried along
	}
}

// Has says whether a slot is in use.
func (p *Pacer) Has(slot int32) bool { return p.has(slot) }
