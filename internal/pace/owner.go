package pace

import "math"

// owner is what is kept of who has accounts.
type owner struct {
	name     string
	accounts int
	polls    float64 // made, decayed, as of the pacer's poll number at
	at       float64
	stretch  float64 // ln of the factor by which its intervals are longer, at least 0
}

// What an owner draws is averaged over ownerMemory polls of each account. In
// ownerSpeed of them the stretch follows an excess of e by a factor of e. With
// fewer accounts than ownerLeast both take as many polls as with these.
const (
	ownerMemory = 2
	ownerSpeed  = 8
	ownerLeast  = 32
	ownerMost   = 9 // of stretch
)

// join notes whose account a slot is. As long as all are of one owner, nothing
// is kept of the slots.
func (p *Pacer) join(slot int32, name string) {
	index, known := p.ownerIndex[name]
	switch n := len(p.freeOwners); {
	case known:
	case p.ownerIndex == nil:
		p.ownerIndex = map[string]int32{name: 0}
		p.owners = []owner{{name: name}}
	case n > 0:
		index, p.freeOwners = p.freeOwners[n-1], p.freeOwners[:n-1]
		p.owners[index] = owner{name: name, at: p.polls}
		p.ownerIndex[name] = index
	default:
		index = int32(len(p.owners))
		p.owners = append(p.owners, owner{name: name, at: p.polls})
		p.ownerIndex[name] = index
	}
	p.owners[index].accounts++
	if index > 0 || p.ownerOf != nil {
		for len(p.ownerOf) < len(p.accounts) {
			p.ownerOf = append(p.ownerOf, 0)
		}
		p.ownerOf[slot] = index
	}
}

// leave undoes join, and forgets an owner without accounts.
func (p *Pacer) leave(slot int32) {
	o := p.owner(slot)
	if o.accounts--; o.accounts == 0 {
		p.freeOwners = append(p.freeOwners, p.ownerIndex[o.name])
		delete(p.ownerIndex, o.name)
		*o = owner{}
	}
}

// owner is whose account a slot in use is.
func (p *Pacer) owner(slot int32) *owner {
	if p.ownerOf == nil {
		return &p.owners[0]
	}
	return &p.owners[p.ownerOf[slot]]
}

// draw counts a poll that came after so many seconds, and corrects its owner's
// stretch. A poll ahead of its plan counts for a part: it takes little from
// others, who had none due.
func (p *Pacer) draw(slot int32, s *state, took float64) {
	p.polls++
	if len(p.owners) < 2 {
		return
	}
	poll := 1.0
	if s.status >= planned {
		poll = min(1, took/s.planned.value())
	}
	o, n := p.owner(slot), float64(max(p.n, ownerLeast))
	passed := p.polls - o.at
	o.polls, o.at = o.polls*math.Exp(-passed/(ownerMemory*n))+poll, p.polls
	own := float64(o.accounts) / float64(p.n)
	allowed := own + p.cfg.OwnerSurplus*(1-own)
	excess := math.Log((o.polls - poll/2) / (ownerMemory * n * allowed))
	o.stretch += min(1, passed/(ownerSpeed*n)) * max(-2, min(2, excess))
	o.stretch = max(0, min(ownerMost, o.stretch))
}

// stretched is an interval as an owner's cap lengthens it: not beyond the
// Ceiling, and not at all if it is there already.
func (p *Pacer) stretched(slot int32, interval float64) float64 {
	if stretch := p.owner(slot).stretch; stretch > 0 {
		return max(interval, min(interval*math.Exp(stretch), p.ceiling()))
	}
	return interval
}
