package main

import "slices"

// noOrphans checks that every webhook belongs to a monitor or rule that exists,
// also when a process died while it created or deleted one.
func (c *checker) noOrphans() {
	for _, e := range c.State.Endpoints {
		if !slices.ContainsFunc(c.State.Monitors, func(w watch) bool { return w.ID == e.Source }) &&
			!slices.ContainsFunc(c.State.Rules, func(r filterRule) bool { return r.ID == e.Source }) {
			c.add("records", "webhook %s (%s) is of %s, which does not exist", e.ID, e.URL, e.Source)
		}
	}
}

// rulesShowTheirs checks that a rule has the webhook that it shows and no other,
// also when a process died while it changed the rule.
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

// recordsKept checks that what a customer was told is in the store, and that what
// was deleted is not.
func (c *checker) recordsKept() {
	monitors, rules, endpoints := make(map[string]bool), make(map[string]bool), make(map[string]bool)
	for _, r := range c.State.Rules {
		rules[r.ID] = true
	}
	for _, w := range c.State.Monitors {
		monitors[w.ID] = true
		if wf := c.Customers.Watches[w.ID]; wf.Last != nil && !sameWatch(&w, wf.Last) {
			c.add("records", "monitor %s is %+v, and its owner was told %+v", w.ID, w, *wf.Last)
		}
	}
	for _, e := range c.State.Endpoints {
		endpoints[e.ID] = true
	}
	for id, w := range c.Customers.Watches {
		if !w.Told.IsZero() && !w.DeleteAsked && !monitors[id] || w.Deleted && monitors[id] {
			c.add("records", "monitor %s (%s): there %t, deleted %t", id, w.Name, monitors[id], w.Deleted)
		}
	}
	for id, r := range c.Customers.Rules {
		if !r.DeleteAsked && !rules[id] || r.Deleted && rules[id] {
			c.add("records", "rule %s: there %t, deleted %t", id, rules[id], r.Deleted)
		}
	}
	for id, e := range c.Customers.Endpoints {
		if !e.Told.IsZero() && e.DeleteAsked.IsZero() && !endpoints[id] || !e.Deleted.IsZero() && endpoints[id] {
			c.add("records", "endpoint %s (%s): there %t, deleted %t", id, e.URL, endpoints[id], !e.Deleted.IsZero())
		}
	}
}
