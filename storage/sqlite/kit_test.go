package sqlite_test

import (
	"fmt"

	"github.com/streamwatch/streamwatch/deliver"
)

var (
	acme   = source("acme", "m1")
	globex = source("globex", "m3")
)

func seqs(evs []deliver.Event) string {
	out := ""
	for i, ev := range evs {
		if i > 0 {
			out += " "
		}
		out += fmt.Sprint(ev.Seq)
	}
	return out
}
