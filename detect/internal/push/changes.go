package push

import (
	"github.com/streamwatch/streamwatch/detect/internal/poll"
	"github.com/streamwatch/streamwatch/fetcher"
)

// changes passes the wanted accounts or queries to a connection after a change. One of its channels
// is nil.
type changes struct {
	accounts chan []fetcher.Account
	queries  chan []fetcher.SearchQuery
}

func newChanges(queries bool) (c changes) {
	if queries {
		c.queries = make(chan []fetcher.SearchQuery, 1)
	} else {
		c.accounts = make(chan []fetcher.Account, 1)
	}
	return c
}

// query returns the query for opening a connection.
func (c changes) query(wanted []fetcher.Account, position string) fetcher.StreamQuery {
	if c.queries != nil {
		return fetcher.StreamQuery{Queries: queriesOf(wanted), QueryChanges: c.queries, Position: position}
	}
	return fetcher.StreamQuery{Accounts: wanted, Changes: c.accounts, Position: position}
}

// tell passes on the accounts or queries wanted now. It replaces an earlier list that was not
// received yet.
func (c changes) tell(wanted []fetcher.Account) {
	if c.queries != nil {
		replace(c.queries, queriesOf(wanted))
	} else {
		replace(c.accounts, wanted)
	}
}

func replace[T any](c chan T, v T) {
	select {
	case <-c:
	default:
	}
	c <- v
}

func queriesOf(wanted []fetcher.Account) []fetcher.SearchQuery {
	list := make([]fetcher.SearchQuery, len(wanted))
	for i, w := range wanted {
		list[i] = fetcher.SearchQuery{Query: w.Username, Type: "Latest"}
	}
	return list
}

// covered returns the accounts or queries named in a signal.
func (s *Supervisor) covered(sig *fetcher.Signal) []fetcher.Account {
	if s.cfg.Kind != poll.Queries {
		return sig.Accounts
	}
	list := make([]fetcher.Account, len(sig.Queries))
	for i, text := range sig.Queries {
		list[i].Username = text
	}
	return list
}
