package streamwatch

import "time"

// FleetStats is the state of the fleet as this node last read it from the store.
type FleetStats struct {
	Name string // of this node
	// Trusted is false while the node cannot reach the store. It then polls and sends nothing.
	Trusted bool
	Parts   int64 // parts of this node, out of fleet.Parts
	Free    int64 // parts that no node has
	// Grants is how many calls a second this node may make to each source. It is the node's share
	// of the source's FetchRate. The key "" is Config.Fetcher.
	Grants map[string]float64
	Nodes  []FleetNode // all nodes of the fleet, including this one, sorted by name
	// Behind is how many changes of records the node has not applied yet.
	Behind int64

	Taken   int64 // parts taken since New
	Given   int64 // parts given away since New
	Lost    int64 // how often this node's membership was ended: its lease had run out, or another engine took its name
	Refused int64 // commit attempts refused because their fence was outdated
}

// FleetNode is a node of a fleet.
type FleetNode struct {
	Name   string
	Weight float64
	Parts  int
	Living bool
	Silent time.Duration // since this node last saw a heartbeat of it
	Lease  time.Duration // see FleetConfig.Lease
}

// stats returns the fleet's state, or the zero value without Config.Fleet.
func (m *membership) stats() FleetStats {
	if m == nil {
		return FleetStats{}
	}
	st := m.node.State()
	out := FleetStats{Name: m.name, Trusted: st.Trusted, Parts: int64(st.Parts.Len()), Free: int64(st.Free), Grants: st.Grants,
		Taken: m.count.taken.Load(), Given: m.count.given.Load(), Lost: m.count.lost.Load(), Refused: m.count.refused.Load()}
	if st.Feed > st.Applied {
		out.Behind = int64(st.Feed - st.Applied)
	}
	for _, n := range st.Members {
		out.Nodes = append(out.Nodes, FleetNode{Name: n.Node.Name, Weight: n.Node.Weight, Parts: n.Parts.Len(), Living: n.Living, Silent: n.Silent, Lease: n.Node.Lease})
	}
	return out
}
