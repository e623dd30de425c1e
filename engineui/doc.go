// Package engineui is a console: pages that show what an engine does, as one
// http.Handler.
//
//	console, err := engineui.New(engineui.Config{Engine: engine, Authorize: engineui.AllowLoopback})
//	defer console.Close()
//	mux.Handle("/console/", console)
//
// Every path of it has one element behind the prefix, which may be any, and every link
// is relative: the console needs no http.StripPrefix, and works with one.
//
// Authorize says who may look, and at whose records: see Viewer. AllowLoopback is for
// one's own machine; KeyLogin lets customers in by their API keys. What is of the whole
// engine, such as its sources and its fleet, is for viewers of all owners only.
//
// Pages are made on the server and work without a script; the script adds what is
// found while one looks. Nothing is loaded from other hosts. A page asks the store for
// one page of each list that it shows, and for no count but that of an owner's rules:
// figures of time windows are differences of Engine.Stats, which a goroutine of the
// console takes every ten seconds.
package engineui
