// Package roles shows the records of a store as monitors, rules and endpoints, for
// programs and tests that look into a store without an engine.
package roles
