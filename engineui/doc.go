// Package engineui is a web console: an http.Handler with pages that show what an engine does.
//
//	console, err := engineui.New(engineui.Config{Engine: engine, Authorize: engineui.AllowLoopback})
//	defer console.Close()
//	mux.Handle("/console/", console)
//
// Any prefix works. Every path of the console has one element after the prefix, and every link
// is relative: the console works with and without http.StripPrefix.
//
// Authorize decides who may see what: see Viewer. AllowLoopback is for your own machine.
// KeyLogin lets customers log in with their API keys. Pages about the whole engine, such as its
// sources and its fleet, are only for operators, who see all owners.
//
// Pages are made on the server and work without a script; the script adds new events to open
// pages. Nothing is loaded from other hosts. A page reads one page of each list that it shows
// from the store, and counts nothing there except an owner's rules. Figures of time windows are
// differences between samples of Engine.Stats, which a goroutine of the console takes every ten
// seconds.
//
//	console.go, page.go, table.go   requests, and the table of pages
//	viewer.go, login.go, limit.go   who may see and change what, and how often
//	tail.go                         events as they are found
//	window.go, forecast.go          what pages show of the last hour, and of the plan
//	the other files                 a page each, for its template in pages
package engineui
