// Package arch has no code, only tests: which package may import which, what never reaches
// a program that embeds the engine, and what no source file may contain. A new package
// gets its place in levels, in rules_test.go.
package arch
