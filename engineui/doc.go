// Package engineui is a web console: an http.Handler with pages that show what an engine does, and on
// which those who may change its monitors, rules, endpoints and keys.
//
//	console, err := engineui.New(engineui.Config{Engine: engine, Authorize: engineui.AllowLoopback})
//	defer console.Close()
//	mux.Handle("/console/", console)
//
// Any prefix works. Every path of the console has one element after the prefix, and every link is
// relative. So the console works with and without http.StripPrefix.
//
// Authorize returns what a person may see and change: see Viewer. AllowLoopback is for your own machine.
// KeyLogin lets customers log in with their API keys. Pages about the whole engine, such as its
// sources and its fleet, are only for operators, who see all owners.
//
// The server makes the pages, which work without a script. The script adds new events to open pages.
// Nothing is loaded from other hosts. Lists and searches use an index of all records in memory, which
// follows the store; deliveries and events are read from the store page by page, and never counted.
//
//	console.go, page.go, table.go   requests, forms, and the table of pages
//	viewer.go, login.go, limit.go   who may see and change what, and how often
//	list.go, find.go                lists of records, and the search in all
//	now.go                          what needs a person, and the figures of the engine
//	watch.go, try.go                monitors and rules
//	tail.go, forecast.go            events as they are found, and the plan
//	the other files                 one page or two each, with their templates in pages
package engineui
