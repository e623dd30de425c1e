//go:build race

package streamwatch_test

// raceDetector says that the test runs some ten times slower than without.
const raceDetector = true
