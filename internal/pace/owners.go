package pace

import "math"

// owners caps what each owner of accounts draws of the budget.
type owners struct {
	surplus float64 // ownerSurplus
	list    []owner
	index   map[string]int32 // in list, by name
	free    []int32          // entries of list without an owner
	bySlot  []int32          // in list; nil as long as all accounts are of the first
	polls   float64          // successful ones, of all owners ever
}

// owner is what is kept of one of them.
type owner struct {
	name     string
	accounts int
	polls    float64 // made, decayed, as of poll number at
	at       float64
	stretch  float64 // ln of the factor by which its intervals are longer, at least 0
	lastAdd  int64   // when the first poll of the account that it added last is due
}

// What an owner draws is averaged over ownerMemory polls of each account. In
// ownerSpeed of them the stretch follows an excess of e by a factor of e. With
// fewer accounts than ownerLeast both take as many polls as with these.
const (
	ownerMemory = 2
	ownerSpeed  = 8
	ownerLeast  = 32
	ownerMost   = 9 // of stretch
	// ownerSurplus is the most of the budget that an owner draws beyond the equal shares of
	// its accounts, as a part of the equal shares of all others.
	ownerSurplus = 0.17
)

// join notes whose account a slot is. As long as all are of one owner, nothing
// is kept of the slots.
func (o *owners) join(slot int32, name string) {
	index, known := o.index[name]
	switch n := len(o.free); {
	case known:
	case o.index == nil:
		o.index = map[string]int32{name: 0}
		o.list = []owner{{name: name}}
	case n > 0:
		index, o.free = o.free[n-1], o.free[:n-1]
		o.list[index] = owner{name: name, at: o.polls}
		o.index[name] = index
	default:
		index = int32(len(o.list))
		o.list = append(o.list, owner{name: name, at: o.polls})
		o.index[name] = index
	}
	o.list[index].accounts++
	if index > 0 || o.bySlot != nil {
		for int(slot) >= len(o.bySlot) {
			o.bySlot = append(o.bySlot, 0)
		}
		o.bySlot[slot] = index
	}
}

// leave undoes join, and forgets an owner without accounts.
func (o *owners) leave(slot int32) {
	who := o.of(slot)
	if who.accounts--; who.accounts == 0 {
		o.free = append(o.free, o.index[who.name])
		delete(o.index, who.name)
		*who = owner{}
	}
}

// of is whose account a slot in use is.
func (o *owners) of(slot int32) *owner {
	if int(slot) >= len(o.bySlot) {
		return &o.list[0]
	}
	return &o.list[o.bySlot[slot]]
}

// draw counts a poll that came after so many seconds, of one of n accounts, and
// corrects its owner's stretch. A poll ahead of its plan counts for a part: it
// takes little from others, who had none due.
func (o *owners) draw(slot int32, s *state, took float64, n int) {
	o.polls++
	if len(o.list) < 2 {
		return
	}
	poll := 1.0
	if s.status >= planned {
		poll = min(1, took/s.planned.value())
	}
	who, memory := o.of(slot), float64(max(n, ownerLeast))
	passed := o.polls - who.at
	who.polls, who.at = who.polls*math.Exp(-passed/(ownerMemory*memory))+poll, o.polls
	own := float64(who.accounts) / float64(n)
	allowed := own + o.surplus*(1-own)
	excess := math.Log((who.polls - poll/2) / (ownerMemory * memory * allowed))
	who.stretch += min(1, passed/(ownerSpeed*memory)) * max(-2, min(2, excess))
	who.stretch = max(0, min(ownerMost, who.stretch))
}

// stretched is an interval as an owner's cap lengthens it: not beyond the
// ceiling, and not at all if it is there already.
func (o *owners) stretched(slot int32, interval, ceiling float64) float64 {
	if stretch := o.of(slot).stretch; stretch > 0 {
		return max(interval, min(interval*math.Exp(stretch), ceiling))
	}
	return interval
}
