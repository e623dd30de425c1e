// Package lanestate is the state machine of a lane of package dispatch, as tables.
package lanestate
