// Package lanestate says what follows for a lane of package dispatch when something
// happens to it. All of it is tables.
package lanestate
