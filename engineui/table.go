package engineui

import "github.com/streamwatch/streamwatch/record"

// table lists the pages, in the order of their links.
func table() []*page {
	return []*page{
		{path: "", title: "Now", file: "now.html", group: "Watch", load: (*Console).now},
		{path: "monitors", title: "Monitors", file: "monitors.html", group: "Watch", load: listOf(record.Monitor, "active", "paused"), actions: monitorsActions},
		{path: "rules", title: "Rules", file: "rules.html", group: "Watch", load: (*Console).rules, actions: rulesActions},
		{path: "accounts", title: "Accounts", file: "accounts.html", group: "Watch", load: (*Console).accounts},
		{path: "sources", title: "Sources", file: "sources.html", group: "Watch", operator: true, load: (*Console).sources},
		{path: "events", title: "Events", file: "events.html", group: "Deliver", load: (*Console).events},
		{path: "deliveries", title: "Deliveries", file: "deliveries.html", group: "Deliver", load: (*Console).deliveries},
		{path: "endpoints", title: "Endpoints", file: "endpoints.html", group: "Deliver", load: listOf(record.Endpoint, "disabled", "failing", "paused", "active")},
		{path: "fleet", title: "Fleet", file: "fleet.html", group: "Run", operator: true, load: (*Console).fleet},
		{path: "owners", title: "Owners", file: "owners.html", group: "Run", operator: true, load: (*Console).owners},
		{path: "keys", title: "Keys", file: "keys.html", group: "Run", there: hasKeys, kind: record.APIKey, load: listOf(record.APIKey, "active", "expired", "revoked"), actions: keysActions},
		{path: "credits", title: "Credits", file: "credits.html", group: "Run", there: hasLedger, load: (*Console).credits},
		{path: "owner", title: "Owner", file: "owner.html", load: (*Console).owner, actions: ownerActions},
		{path: "monitor", title: "Monitor", file: "monitor.html", kind: record.Monitor, load: (*Console).monitor, actions: monitorActions},
		{path: "rule", title: "Rule", file: "rule.html", kind: record.Rule, load: (*Console).rule, actions: ruleActions},
		{path: "account", title: "Account", file: "account.html", load: (*Console).account},
		{path: "endpoint", title: "Endpoint", file: "endpoint.html", kind: record.Endpoint, load: (*Console).endpoint, actions: endpointActions},
		{path: "event", title: "Event", file: "event.html", load: (*Console).event, actions: eventActions},
		{path: "find", title: "Find", file: "find.html", load: (*Console).find},
	}
}

func hasKeys(c *Console) bool { return c.cfg.Keys != nil }

func hasLedger(c *Console) bool { return c.cfg.Ledger != nil }
