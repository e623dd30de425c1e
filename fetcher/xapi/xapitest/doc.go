// Package xapitest is a server that answers as X's API does, for tests of programs
// that read X.
//
//	server := xapitest.New(xapitest.Config{})
//	ann := server.AddAccount("ann")
//	server.Post("ann", "hello")
package xapitest
