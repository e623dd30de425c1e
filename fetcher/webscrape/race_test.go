//go:build race

package webscrape

// hostileScale divides the length of hostile pages: the race detector makes
// everything some twenty times slower.
const hostileScale = 16
