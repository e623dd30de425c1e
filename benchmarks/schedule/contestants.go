package main

import (
	"fmt"
	"time"
)

// contestant is one way to poll many accounts.
type contestant struct {
	name string // of -impl
	impl string // in the rows
	most int    // accounts it is asked to do; it falls behind or fills the memory with more
	// start begins to poll accounts 0 to n-1, each once a period at its phase,
	// and returns when all of them are scheduled. It ends with the process.
	start func(n int, period time.Duration, poll func(account int)) error
}

// names lists what -impl takes.
func names() []string {
	var out []string
	for _, c := range contestants {
		out = append(out, c.name)
	}
	return out
}

// Accounts are named by their number: the Fetcher needs no map.
const (
	namePrefix = "user"
	nameDigits = 7 // with the prefix a handle of usual length
)

func username(account int) string { return fmt.Sprintf("%s%0*d", namePrefix, nameDigits, account) }

// accountOf is the number in a name that username made.
func accountOf(name string) int {
	n := 0
	for i := len(namePrefix); i < len(name); i++ {
		n = 10*n + int(name[i]-'0')
	}
	return n
}
