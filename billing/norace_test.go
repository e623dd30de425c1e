//go:build !race

package billing_test

const raceDetector = false
