// Package engineui is a console: pages that show what an engine does, as one
// http.Handler.
//
//	console, err := engineui.New(engineui.Config{Engine: engine, Authorize: engineui.AllowLoopback})
//	defer console.Close()
//	mux.Handle("/console/", console)
//
// The prefix may be any. Every path of the console has one element after it, and every link
// is relative, so that the console works with and without http.StripPrefix.
//
// Authorize says who may see what: see Viewer. AllowLoopback is for one's own machine;
// KeyLogin lets customers in by their API keys. Pages of the whole engine, such as its
// sources and its fleet, are for operators, who see all owners.
//
// Pages are made on the server and work without a script; the script adds events as they are
// found. Nothing is loaded from other hosts. A page asks the store for one page of each list
// that it shows, and for no count but that of an owner's rules. Figures of time windows are
// differences between samples of Engine.Stats, which a goroutine of the console takes every
// ten seconds.
//
//	console.go, page.go, table.go   requests, and the table of pages
//	viewer.go, login.go, limit.go   who may see and change what, and how often
//	tail.go                         events as they are found
//	window.go, forecast.go          what pages show of the last hour, and of the plan
//	the other files                 a page each, for its template in pages
package engineui
