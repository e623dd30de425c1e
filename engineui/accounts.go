package engineui

import (
	"net/http"

	"github.com/streamwatch/streamwatch/detect"
)

// worstShown is the maximum number of accounts on the page.
const worstShown = 50

// accountsData lists the accounts with the worst figures.
type accountsData struct {
	By       worst
	Orders   []worst // all orders that can be chosen
	Accounts []detect.AccountStatus
	Fleet    bool // there are other nodes: the list has only accounts that this node polls
}

// worst is an order in which accounts are listed.
type worst struct {
	Name, Title, Rank string // Rank is the heading of the column of ranks
	by                detect.WorstBy
}

var worstOrders = []worst{
	{"failing", "Failing", "Failures in a row", detect.WorstFailing},
	{"silent", "Silent", "Posts missing", detect.WorstSilent},
	{"gaps", "With gaps", "Open gaps", detect.WorstGaps},
	{"slow", "Slow", "Mean delay", detect.WorstSlow},
}

// accounts loads the page of the accounts with the worst figures. An operator who has chosen no
// owner sees those of all owners.
func (c *Console) accounts(v *view) (any, error) {
	d := accountsData{By: worstOrders[0], Orders: worstOrders, Fleet: c.engine.Nodes() > 1}
	if name := v.query.Get("by"); name != "" {
		known := false
		for _, o := range worstOrders {
			if o.Name == name {
				d.By, known = o, true
			}
		}
		if !known {
			return nil, &failure{http.StatusBadRequest, "The parameter by is not allowed: want failing, silent, gaps or slow."}
		}
	}
	of := v.scope()
	var err error
	d.Accounts, err = c.engine.WorstAccounts(v.Context(), detect.WorstQuery{By: d.By.by, Limit: worstShown, Owner: of.owner, All: of.all})
	return d, running(err)
}
