package main

import (
	"context"
	"os"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func Example() {
	if err := run(context.Background(), os.Stdout); err != nil {
		panic(err)
	}
	// Output:
	// two nodes: 40 posts, each once: true, found by 2 nodes
	// one node: 80 posts, each once: true, found by 1 nodes
}
