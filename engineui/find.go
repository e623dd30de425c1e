package engineui

import (
	"strings"

	"github.com/streamwatch/streamwatch/internal/search"
	"github.com/streamwatch/streamwatch/record"
)

// hit is something that a search has found.
type hit struct {
	Kind, Name, Owner, Link string
	exact                   bool
}

// findData is what a search has found.
type findData struct {
	Find string
	Hits []hit
	More bool // there are more than those
}

// Limits of a search.
const (
	hitsShown  = 20  // of each kind
	ownersRead = 100 // owners whose deliveries are looked up by an id, for an operator
)

// find loads the page of the hits of a search in all that the viewer may see. The only hit, or the
// only exact one, is shown at once.
func (c *Console) find(v *view) (any, error) {
	d := &findData{Find: cut(maxFind, strings.TrimSpace(v.query.Get("find")))}
	if d.Find == "" {
		return d, nil
	}
	of := v.scope()
	for _, kind := range search.Kinds {
		path := map[record.Kind]string{record.Monitor: "monitor", record.Rule: "rule", record.Endpoint: "endpoint", record.APIKey: "keys"}[kind]
		if !v.Has(path) {
			continue
		}
		page, err := c.index.List(v.Context(), search.Query{Kind: kind, All: of.all, Owner: of.owner, Find: d.Find, Now: c.cfg.Now(), Size: hitsShown})
		if err != nil {
			return nil, err
		}
		d.More = d.More || page.Next != ""
		for _, e := range page.Entries {
			h := hit{Kind: strings.TrimSuffix(path, "s"), Name: e.Name, Owner: e.Owner, Link: v.Link(path, path, e.ID), exact: e.ID == d.Find || strings.EqualFold(e.Name, d.Find)}
			if kind == record.APIKey {
				h.Link = v.Link("keys", "find", e.ID)
			}
			if host, _ := place(e.Name); kind == record.Endpoint {
				h.exact = h.exact || strings.EqualFold(host, d.Find)
			}
			d.Hits = append(d.Hits, h)
		}
	}
	st, ok, err := c.engine.AccountOf(v.Context(), of.owner, d.Find)
	if of.all {
		st, ok, err = c.engine.Account(v.Context(), d.Find)
	}
	if ok && err == nil { // an engine that does not run knows no accounts
		d.Hits = append(d.Hits, hit{Kind: "account", Name: st.Username, Link: v.Link("account", "account", st.Username), exact: true})
	}
	owners := []search.Owner{{Name: v.Owner}}
	if of.all {
		named, _, err := c.index.Owners(v.Context(), d.Find, "", hitsShown)
		if err != nil {
			return nil, err
		}
		for _, o := range named {
			d.Hits = append(d.Hits, hit{Kind: "owner", Name: o.Name, Link: v.OwnerLink(o.Name, "owner"), exact: o.Name == d.Find})
		}
		if owners, _, err = c.index.Owners(v.Context(), "", "", ownersRead); err != nil {
			return nil, err
		}
	}
	if strings.HasPrefix(d.Find, "dlv_") {
		for _, o := range owners {
			if _, err := c.engine.Log().Delivery(v.Context(), o.Name, d.Find); err == nil {
				d.Hits = append(d.Hits, hit{Kind: "delivery", Name: d.Find, Owner: o.Name, Link: v.OwnerLink(o.Name, "event", "delivery", d.Find), exact: true})
			} else if !gone(err) {
				return nil, err
			}
		}
	}
	var only []hit
	for _, h := range d.Hits {
		if h.exact {
			only = append(only, h)
		}
	}
	if len(only) == 1 || len(d.Hits) == 1 {
		v.to = append(only, d.Hits...)[0].Link
	}
	return d, nil
}
