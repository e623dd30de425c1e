package engineui

// table lists the pages, in the order of their links.
func table() []*page {
	return []*page{
		{path: "", title: "Now", file: "now.html", nav: true, load: (*Console).now},
		{path: "sources", title: "Sources", file: "sources.html", nav: true, operator: true, load: (*Console).sources},
		{path: "fleet", title: "Fleet", file: "fleet.html", nav: true, operator: true, load: (*Console).fleet},
		{path: "accounts", title: "Accounts", file: "accounts.html", nav: true, owned: true, load: (*Console).accounts},
		{path: "account", title: "Account", file: "account.html", load: (*Console).account},
		{path: "endpoints", title: "Endpoints", file: "endpoints.html", nav: true, owned: true, load: (*Console).endpoints},
		{path: "endpoint", title: "Endpoint", file: "endpoint.html", load: (*Console).endpoint, change: (*Console).changeEndpoint},
		{path: "events", title: "Events", file: "events.html", nav: true, owned: true, load: (*Console).events},
		{path: "event", title: "Event", file: "event.html", load: (*Console).event, change: (*Console).redeliver},
		{path: "rules", title: "Rules", file: "rules.html", nav: true, owned: true, load: (*Console).rules},
		{path: "credits", title: "Credits", file: "credits.html", nav: true, owned: true, there: hasLedger, load: (*Console).credits},
	}
}

func hasLedger(c *Console) bool { return c.cfg.Ledger != nil }
