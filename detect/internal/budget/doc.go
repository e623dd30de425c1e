// Package budget limits how many upstream calls are made per second, and stops calls while
// the upstream refuses them.
package budget
