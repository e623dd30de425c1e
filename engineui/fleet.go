package engineui

// fleet is the page of the nodes. Its data is a streamwatch.FleetStats, whose Name is "" for
// an engine that is alone.
func (c *Console) fleet(*view) (any, error) { return c.engine.Stats().Fleet, nil }
