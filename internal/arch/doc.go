// Package arch has only tests. They check which packages a package may import, which packages a
// program that embeds the engine must not contain, and which texts no source file may contain.
// Add a new package to levels in rules_test.go.
package arch
