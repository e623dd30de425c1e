package main

import "slices"

// noOrphans checks that every webhook belongs to a monitor or rule that exists, even if a process
// died while it created or deleted one.
func (c *checker) noOrphans() {
	for _, e := range c.State.Endpoints {
		if !slices.ContainsFunc(c.State.Monitors, func(w watch) bool { return w.ID == e.Source }) &&
			!slices.ContainsFunc(c.State.Rules, func(r filterRule) bool { return r.ID == e.Source }) {
			c.add("records", "webhook %s (%s) is of %s, which does not exist", e.ID, e.URL, e.Source)
		}
	}
}

// rulesShowTheirs checks that each rule has the webhook in its record and no other, even if a
// process died while it changed the rule.
func (c *checker) rulesShowTheirs() {
	for _, r := range c.State.Rules {
		var want, urls []string
		if r.URL != "" {
			want = []string{r.URL}
		}
		for _, e := range c.State.Endpoints {
			if e.Source == r.ID {
				urls = append(urls, e.URL)
			}
		}
		if !slices.Equal(urls, want) {
			c.add("records", "rule %s (%s) shows webhook_url %q, and its webhooks are %q", r.ID, r.Tag, r.URL, urls)
		}
	}
}

// recordsKept checks that the store has every confirmed record as it was confirmed, and no deleted
// record.
func (c *checker) recordsKept() {
	there := make(map[string]bool)
	for _, r := range c.State.Rules {
		there[r.ID] = true
	}
	for _, w := range c.State.Monitors {
		there[w.ID] = true
		if wf := c.Customers.Watches[w.ID]; wf.Last != nil && !sameWatch(&w, wf.Last) {
			c.add("records", "monitor %s is %+v, and its owner was told %+v", w.ID, w, *wf.Last)
		}
	}
	for _, e := range c.State.Endpoints {
		there[e.ID] = true
	}
	kept := func(what, id string, f *recordFacts) {
		if !f.kept(there[id]) {
			c.add("records", "%s %s: there %t, and %+v", what, id, there[id], *f)
		}
	}
	for id, w := range c.Customers.Watches {
		kept("monitor", id, &w.recordFacts)
	}
	for id, r := range c.Customers.Rules {
		kept("rule", id, r)
	}
	for id, e := range c.Customers.Endpoints {
		kept("endpoint", id, &e.recordFacts)
	}
}
