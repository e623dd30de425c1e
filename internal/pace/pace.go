package pace

import (
	"fmt"
	"time"

	"github.com/streamwatch/streamwatch/internal/due"
)

// Account is what one account asks for. The zero value is an ordinary one.
type Account struct {
	Weight float64       // how much a post's delay counts; weights of several monitors add up. Defaults to 1
	Min    time.Duration // least time between two polls. Defaults to 1 s
	Max    time.Duration // most time planned between them, at least Min. Defaults to 2.2 × accounts / budget
	Owner  string        // any name; an owner's share of the budget is capped
}

// Pacer paces the polls of one bucket. It is not safe for concurrent use.
type Pacer struct {
	accounts []state // by slot
	bounds   bounds
	order    order
	rates    rates
	price    price
	owners   owners
}

// New returns a Pacer without accounts, for a budget of requests a second. The budget must
// be above 0.
func New(budget float64) (*Pacer, error) {
	if err := checkBudget("budget", budget); err != nil {
		return nil, err
	}
	return &Pacer{
		bounds: bounds{budget: budget},
		rates:  rates{posts: 1, seconds: 86_400},
		owners: owners{surplus: ownerSurplus},
	}, nil
}

// Add begins to pace a new account, whose first poll goes first: see Hurry. Accounts that
// an owner adds while earlier ones of its own wait are due one after another, for half of
// the budget at most. It is an error when the slot is taken, negative or beyond
// due.MaxSlots, or the account is not allowed.
func (p *Pacer) Add(slot int32, now int64, a Account) error {
	if err := p.add(slot, now, a); err != nil {
		return err
	}
	at := p.order.place(&p.owners.of(slot).lastAdd, now, &p.bounds)
	p.begin(slot, at)
	if at <= now {
		p.goFirst(slot, now, p.order.turn(now, &p.bounds))
	}
	return nil
}

// Resume is Add for an account that was paced before, by another Pacer, until a time. All
// that are resumed have their first polls one after another, within two equal shares of
// that time.
func (p *Pacer) Resume(slot int32, now, until int64, a Account) error {
	until = min(until, now)
	if err := p.add(slot, until, a); err != nil {
		return err
	}
	p.begin(slot, p.order.place(&p.order.lastPlace, now, &p.bounds)-(now-until))
	return nil
}

// begin plans the first poll of an account, before its Max ends.
func (p *Pacer) begin(slot int32, at int64) {
	p.order.ready.Set(slot, min(at, p.deadline(slot, &p.accounts[slot])))
}

// add keeps an account that was polled last at a time.
func (p *Pacer) add(slot int32, last int64, a Account) error {
	if slot < 0 || slot >= due.MaxSlots {
		return fmt.Errorf("pace: slot %d is not allowed: want 0 to %d", slot, due.MaxSlots-1)
	}
	if p.Has(slot) {
		return fmt.Errorf("pace: slot %d is taken", slot)
	}
	if err := checkAsk(a.Weight, a.Min, a.Max); err != nil {
		return fmt.Errorf("pace: Account.%w", err)
	}
	for int(slot) >= len(p.accounts) {
		p.accounts = append(p.accounts, state{})
	}
	p.resize(p.bounds.n + 1)
	s := &p.accounts[slot]
	*s = state{last: last, status: unsure}
	p.bounds.add(s, a)
	p.owners.join(slot, a.Owner)
	return nil
}

// Update replaces what an account asks for. It takes effect with the plan that
// the next successful poll makes, and Max and a shorter Min at once.
func (p *Pacer) Update(slot int32, a Account) error {
	if !p.Has(slot) {
		return fmt.Errorf("pace: slot %d is not in use", slot)
	}
	if err := checkAsk(a.Weight, a.Min, a.Max); err != nil {
		return fmt.Errorf("pace: Account.%w", err)
	}
	s := &p.accounts[slot]
	p.bounds.remove(s)
	p.bounds.add(s, a)
	if p.owners.of(slot).name != a.Owner {
		p.owners.leave(slot)
		p.owners.join(slot, a.Owner)
	}
	if most := p.owners.stretched(slot, p.bounds.max(s), p.bounds.ceiling()); s.planned.value() > most {
		s.planned = shorten(most)
		if s.status >= planned {
			s.status = unsure
		}
	}
	if until, ok := p.order.resting.At(slot); ok && s.status != failed && !s.status.hasty() {
		p.order.resting.Set(slot, min(until, s.last+int64(p.bounds.min(s)*1e9)))
	}
	ends := p.deadline(slot, s)
	if p.order.overdue.Has(slot) {
		p.order.overdue.Set(slot, ends)
	} else if at, ok := p.order.ready.At(slot); ok && at > ends && s.planned > 0 { // a first poll keeps its place
		p.order.ready.Set(slot, ends)
	}
	return nil
}

// Remove forgets an account, also while it is polled. A slot not in use is left
// alone.
func (p *Pacer) Remove(slot int32) {
	if !p.Has(slot) {
		return
	}
	p.order.remove(slot)
	p.bounds.remove(&p.accounts[slot])
	p.owners.leave(slot)
	p.accounts[slot] = state{}
	p.resize(p.bounds.n - 1)
}

// resize changes the number of accounts.
func (p *Pacer) resize(n int) {
	p.price.resize(p.bounds.n, n, p.bounds.budget)
	p.bounds.n = n
}

// SetBudget replaces the budget, in requests a second. Plans already made
// stay, and are polled earlier or later by about the same factor. First polls do not
// wait for the places that a lower budget gave them.
func (p *Pacer) SetBudget(perSecond float64) error {
	if err := checkBudget("budget", perSecond); err != nil {
		return err
	}
	p.price.rescale(p.bounds.budget, perSecond)
	grows := perSecond > p.bounds.budget
	p.bounds.budget = perSecond
	if grows {
		p.hasten()
	}
	return nil
}

// Has reports whether a slot is in use.
func (p *Pacer) Has(slot int32) bool {
	return slot >= 0 && int(slot) < len(p.accounts) && p.accounts[slot].status != absent
}

// Rate is the estimate of an account's posts a second as of its last poll, the
// mean over the hour; 0 for a slot not in use.
func (p *Pacer) Rate(slot int32) float64 {
	if !p.Has(slot) {
		return 0
	}
	return p.rates.of(&p.accounts[slot], p.bounds.share())
}

// Demand is the requests a second that the Max of all accounts ask for. Above
// the budget they cannot be kept, and polls come late by the same time. Below it
// a Max is not kept either where its owner draws more than its cap allows: Demand
// counts it all the same.
func (p *Pacer) Demand() float64 { return p.bounds.total() }
