package storetest

import (
	"context"
	"time"

	"github.com/streamwatch/streamwatch/monitor"
	"github.com/streamwatch/streamwatch/rule"
	"github.com/streamwatch/streamwatch/storage"
)

func ruleCases() []storeCase {
	role := recordRole[rule.Rule]{
		noun: "rule", name: "tag",
		role: func(s storage.Store) versioned[rule.Rule] { return s.Rules() },
		make: func(owner, id, tag, status string) rule.Rule {
			return rule.Rule{ID: id, Owner: owner, Tag: tag, Status: rule.Status(status), Version: 1}
		},
		full:    fullRule,
		rename:  func(r *rule.Rule, tag string) { r.Tag = tag },
		id:      func(r *rule.Rule) string { return r.ID },
		version: func(r *rule.Rule) *int64 { return &r.Version },
		change: func(t *storeTest, r *rule.Rule) {
			r.Tag, r.Query, r.Status, r.StatusReason = "changed", "from:esa", rule.Paused, "paused_by_user"
			r.Interval, r.Schedule, r.MaxResults = 0, "*/5 * * * *", 7
			r.WebhookURL, r.WebhookSecretSet = "", false
			r.UpdatedAt, r.ResumedAt = t.at(60), t.at(61)
		},
		list: func(ctx context.Context, s storage.Store, owner, status string, page, size int) (listed[rule.Rule], error) {
			p, err := s.Rules().List(ctx, rule.Query{Owner: owner, Status: rule.Status(status), Page: page, PageSize: size})
			return listed[rule.Rule]{p.Rules, p.Total, p.Page, p.PageSize}, err
		},
		notFound: rule.ErrNotFound, duplicate: rule.ErrDuplicate, conflict: rule.ErrConflict,
	}
	return append(role.cases(),
		storeCase{name: "monitors and rules are apart", run: func(t *storeTest) {
			t.ok(t.store.Monitors().Create(t.Context(), monitor.Monitor{ID: "one", Owner: "acme", Name: "n"}), "Monitors.Create")
			t.ok(t.store.Rules().Create(t.Context(), role.make("acme", "one", "n", "active")), "Rules.Create under a monitor's id")
			t.ok(t.store.Rules().Delete(t.Context(), "acme", "one"), "Rules.Delete")
			_, err := t.store.Monitors().Get(t.Context(), "acme", "one")
			t.refused(err, nil, "deleting a rule removed the monitor of the same id")
		}},
	)
}

// fullRule returns a rule with a value in every field.
func fullRule(t *storeTest) rule.Rule {
	return rule.Rule{
		ID: "full", Owner: "acme", Tag: "rockets", Query: `from:nasa "lift off" -is:retweet`,
		Interval: 1500 * time.Millisecond, Schedule: "@hourly", MaxResults: 50,
		WebhookURL: "https://example.com/hook?a=b", WebhookSecretSet: true,
		Status: rule.Active, StatusReason: "none",
		CreatedAt: t.start.Add(time.Microsecond), UpdatedAt: t.at(3), ResumedAt: t.at(4), Since: t.at(2), Version: 41,
	}
}
