package main

import (
	"fmt"
	"io"

	"github.com/streamwatch/streamwatch"
	"github.com/streamwatch/streamwatch/engineui"
)

// serveConsole serves the engine's console on loopback until stop is called. Every user of this
// machine has all rights in it.
func serveConsole(engine *streamwatch.Engine, w io.Writer) (stop func(), err error) {
	console, err := engineui.New(engineui.Config{Engine: engine, Authorize: engineui.AllowLoopback})
	if err != nil {
		return nil, err
	}
	url, stopServer, err := serve(console)
	if err != nil {
		console.Close()
		return nil, err
	}
	fmt.Fprintf(w, "console: %s/\n", url)
	return func() {
		console.Close()
		stopServer()
	}, nil
}
