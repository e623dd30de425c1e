package streamwatch

import "time"

// FleetStats is the fleet as this node saw it last.
type FleetStats struct {
	Name string // of this node
	// Trusted is false while the node has no contact with the store, and polls and
	// sends nothing.
	Trusted bool
	Parts   int64 // that this node has, of fleet.Parts
	Free    int64 // parts that nobody has
	// Grants are this node's calls a second to the sources whose FetchRate the fleet
	// shares, by source, "" for Config.Fetcher.
	Grants map[string]float64
	Nodes  []FleetNode // all of the fleet, this one included, by name
	// Behind is how many changes of records the node has not followed yet.
	Behind int64

	Taken   int64 // parts begun since the engine was made
	Given   int64 // parts given to others
	Lost    int64 // terms of this node that others have ended
	Refused int64 // commits refused because their fence was outdated, each attempt counted
}

// FleetNode is a node of a fleet.
type FleetNode struct {
	Name   string
	Weight float64
	Parts  int
	Living bool
	Silent time.Duration // since its last beat was seen
	Lease  time.Duration // for how long a beat counts
}

// stats is zero for an engine that is alone.
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
