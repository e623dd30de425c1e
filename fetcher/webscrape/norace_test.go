//go:build !race

package webscrape

const hostileScale = 4
