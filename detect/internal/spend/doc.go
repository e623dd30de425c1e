// Package spend counts what a platform charges for what it returns, and says when a
// day's limit is reached. A day is one in UTC, by which platforms bill.
package spend
