// Package spend counts what a platform charges for its answers, and reports when a day's limit is
// reached. Days are in UTC, because platforms bill by UTC days.
package spend
