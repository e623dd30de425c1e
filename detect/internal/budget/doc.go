// Package budget bounds how many upstream calls are made in a second, and stops
// them while the upstream refuses them.
package budget
