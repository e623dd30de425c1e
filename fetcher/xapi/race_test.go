//go:build race

package xapi_test

// raceDetector says that the race detector is on, which makes long tests slow.
const raceDetector = true
