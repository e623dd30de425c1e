//go:build !race

package apikey_test

const raceDetector = false
