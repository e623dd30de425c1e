package main

import "fmt"

// halfDone returns what the records show of changes that are half done: a monitor or rule without
// the webhook that it shows, or a webhook without its monitor or rule. Nobody may ever see that,
// also if a process died during the change.
func (s *state) halfDone() (found []string) {
	sources := make(map[string]hook)
	for _, w := range s.Monitors {
		sources[w.ID] = w.Hook
	}
	for _, r := range s.Rules {
		sources[r.ID] = r.Hook
	}
	urls := make(map[endpoint]bool)
	for _, e := range s.Endpoints {
		urls[e] = true
		if _, ok := sources[e.Source]; !ok {
			found = append(found, fmt.Sprintf("webhook %s (%s) is of %s, which does not exist", e.ID, e.URL, e.Source))
		}
	}
	for id, h := range sources {
		if h != (hook{}) && !urls[endpoint{h.ID, id, h.URL}] {
			found = append(found, fmt.Sprintf("%s shows the webhook %s (%q), which is not its own", id, h.ID, h.URL))
		}
	}
	return found
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
