package pace

import "math"

// owners limits each owner's part of the budget.
type owners struct {
	surplus float64 // ownerSurplus; a field for tests
	list    []owner
	index   map[string]int32 // index in list, by name
	free    []int32          // indexes of unused entries in list
	bySlot  []int32          // index in list, by slot; nil while all accounts belong to the first owner
	polls   float64          // successful polls of all owners so far
}

// owner is the state of one owner.
type owner struct {
	name     string
	accounts int
	polls    float64 // decayed number of polls, as of poll number at
	at       float64
	stretch  float64 // ln of the factor that lengthens its intervals, at least 0
	lastAdd  int64   // when the first poll of its last added account is due
}

// An owner's polls are averaged over ownerMemory polls of each account. If an owner draws twice
// its cap, its intervals become twice as long in ownerSpeed polls of each account. Fewer than
// ownerLeast accounts count as ownerLeast.
const (
	ownerMemory = 2
	ownerSpeed  = 8
	ownerLeast  = 32
	ownerMost   = 9 // limit of stretch
	// ownerSurplus is how much an owner may draw beyond the equal shares of its accounts, as a
	// fraction of the equal shares of all others.
	ownerSurplus = 0.17
)

// join records the owner of a slot. While there is only one owner, it stores nothing per slot.
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

// leave undoes join. It drops the owner if no account is left.
func (o *owners) leave(slot int32) {
	who := o.of(slot)
	if who.accounts--; who.accounts == 0 {
		o.free = append(o.free, o.index[who.name])
		delete(o.index, who.name)
		*who = owner{}
	}
}

// of returns the owner of a slot in use.
func (o *owners) of(slot int32) *owner {
	if int(slot) >= len(o.bySlot) {
		return &o.list[0]
	}
	return &o.list[o.bySlot[slot]]
}

// draw counts a poll of one of n accounts, took seconds after the account's previous poll, and
// adjusts its owner's stretch. A poll ahead of plan counts only in part. It takes little from
// other owners, because none of their polls was due.
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

// stretched returns an interval lengthened by its owner's stretch, up to ceiling. It does not
// change an interval that is longer than ceiling.
func (o *owners) stretched(slot int32, interval, ceiling float64) float64 {
	if stretch := o.of(slot).stretch; stretch > 0 {
		return max(interval, min(interval*math.Exp(stretch), ceiling))
	}
	return interval
}
