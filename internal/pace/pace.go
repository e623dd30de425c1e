package pace

import (
	"fmt"
	"time"

	"github.com/streamwatch/streamwatch/internal/due"
)

// Account has the terms of one account. The zero value is for an ordinary account.
type Account struct {
	Weight float64       // how much a post's delay counts; weights of several monitors add up. Defaults to 1
	Min    time.Duration // shortest time between two polls. Defaults to 1 s
	Max    time.Duration // longest time planned between two polls, at least Min. Defaults to 2.2 × accounts / budget
	Owner  string        // any name; each owner's part of the budget is capped
}

// Pacer paces the polls of one rate-limit bucket. It is not safe for concurrent use.
type Pacer struct {
	accounts []state // by slot
	bounds   bounds
	order    order
	rates    rates
	price    price
	owners   owners
}

// New returns a Pacer without accounts, for a budget in requests per second, which must be
// above 0.
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

// Add begins to pace a new account. The first poll goes before all others, as after Hurry. If
// accounts that the same owner added before still wait, their first polls are due one after
// another, using at most half of the budget. Add returns an error if the slot is taken, negative,
// or due.MaxSlots or more, or if a field of the account is not allowed.
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

// Resume is Add for an account that another Pacer paced until the time until. All resumed
// accounts have their first polls one after another, within two equal shares after until.
func (p *Pacer) Resume(slot int32, now, until int64, a Account) error {
	until = min(until, now)
	if err := p.add(slot, until, a); err != nil {
		return err
	}
	p.begin(slot, p.order.place(&p.order.lastPlace, now, &p.bounds)-(now-until))
	return nil
}

// begin plans the first poll of an account for the time at. If its Max ends earlier, the poll is
// planned for then.
func (p *Pacer) begin(slot int32, at int64) {
	p.order.ready.Set(slot, min(at, p.deadline(slot, &p.accounts[slot])))
}

// add stores an account with the time of its last poll.
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

// Update replaces the terms of an account. Max and a shorter Min take effect immediately. Other
// changes take effect with the plan made after the next successful poll.
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

// Remove removes an account, even while it is polled. It does nothing if the slot is not in
// use.
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

// SetBudget sets the budget, in requests per second. Existing plans stay, but Next reaches all of
// them earlier or later by about the same factor. When the budget grows, first polls move to
// earlier times.
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

// Rate returns the estimate of an account's posts per second at its last poll, averaged over the
// hour. It returns 0 for a slot that is not in use.
func (p *Pacer) Rate(slot int32) float64 {
	if !p.Has(slot) {
		return 0
	}
	return p.rates.of(&p.accounts[slot], p.bounds.share())
}

// Demand returns the requests per second needed to keep the Max of all accounts. If it is above
// the budget, all polls are late by the same time. If it is below the budget, an owner above its
// cap may still miss its Max. Demand includes the requests for such owners.
func (p *Pacer) Demand() float64 { return p.bounds.total() }
