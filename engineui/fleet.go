package engineui

import "github.com/streamwatch/streamwatch"

// fleetData is the fleet; Name is "" for an engine that is alone.
type fleetData struct {
	streamwatch.FleetStats
}

// fleet is the page of the nodes.
func (c *Console) fleet(*view) (any, error) { return fleetData{c.engine.Stats().Fleet}, nil }

// Orphans reports whether parts wait for somebody to take them.
func (d fleetData) Orphans() bool { return d.Free > 0 }
