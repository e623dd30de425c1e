// Package engineui is a web console: an http.Handler with pages that show what an engine does.
//
//	console, err := engineui.New(engineui.Config{Engine: engine, Authorize: engineui.AllowLoopback})
//	defer console.Close()
//	mux.Handle("/console/", console)
//
// Any prefix works. Every path of the console has one element after the prefix, and every link is
// relative. So the console works with and without http.StripPrefix.
//
// Authorize returns what a person may see: see Viewer. AllowLoopback is for your own machine.
// KeyLogin lets customers log in with their API keys. Pages about the whole engine, such as its
// sources and its fleet, are only for operators, who see all owners.
//
// The server makes the pages, which work without a script. The script adds new events to open pages.
// Nothing is loaded from other hosts. For each list on a page, the console reads one page of the list
// from the store. It lets the store count only an owner's rules. A goroutine of the console samples
// Engine.Stats every ten seconds; figures of time windows are differences of two samples.
//
//	console.go, page.go, table.go   requests, and the table of pages
//	viewer.go, login.go, limit.go   who may see and change what, and how often
//	tail.go                         events as they are found
//	window.go, forecast.go          figures of the last hour, and of the plan
//	the other files                 one page each, with its template in pages
package engineui
