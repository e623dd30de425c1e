// Package arch has only tests. They check which packages a package may import, which packages a
// program that embeds the engine must not contain, which texts no source file may contain, and how
// long some packages' pages are. Add a new package to levels in rules_test.go.
package arch
