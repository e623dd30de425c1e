package engineui

// fleet loads the page of the nodes. Its data is a streamwatch.FleetStats, with an empty Name if
// the engine has no fleet.
func (c *Console) fleet(*view) (any, error) { return c.engine.Stats().Fleet, nil }
