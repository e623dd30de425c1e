package engineui

// table lists the pages, in the order of their links.
func table() []*page {
	return []*page{
		{path: "", title: "Now", file: "now.html", nav: true, load: (*Console).now},
		{path: "sources", title: "Sources", file: "sources.html", nav: true, operator: true, load: (*Console).sources},
		{path: "fleet", title: "Fleet", file: "fleet.html", nav: true, operator: true, load: (*Console).fleet},
		{path: "credits", title: "Credits", file: "credits.html", nav: true, owned: true, there: hasLedger, load: (*Console).credits},
	}
}

func hasLedger(c *Console) bool { return c.cfg.Ledger != nil }
