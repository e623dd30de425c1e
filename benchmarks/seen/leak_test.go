package main

import (
	"testing"

	"go.uber.org/goleak"
)

// Servers and clients of the comparison are stopped when it is over.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
