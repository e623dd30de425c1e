package enginetest

import (
	"testing"

	"github.com/streamwatch/streamwatch/storage/storetest"
)

// StoreKit says how TestStore and BenchStore get the stores they work on.
type StoreKit = storetest.Kit

// TestStore runs a store through the conformance suite: see storetest.TestStore.
func TestStore(t *testing.T, kit StoreKit) { storetest.TestStore(t, kit) }

// BenchStore measures a store: see storetest.BenchStore.
func BenchStore(b *testing.B, kit StoreKit) { storetest.BenchStore(b, kit) }
