package memory

import (
	"context"

	"github.com/streamwatch/streamwatch/billing"
	"github.com/streamwatch/streamwatch/fleet"
	"github.com/streamwatch/streamwatch/rule"
)

// rules implements rule.Store.
type rules struct{ records[rule.Rule] }

func ruleKeys(r *rule.Rule) (owner, id, tag string) { return r.Owner, r.ID, r.Tag }

func (s *Store) ruleRecords() records[rule.Rule] {
	return records[rule.Rule]{
		s: s, t: s.rules,
		clone:      func(r rule.Rule) rule.Rule { return r }, // a Rule has no slices or pointers
		version:    func(r *rule.Rule) *int64 { return &r.Version },
		ledgerKind: billing.KindRule,
		feedKind:   fleet.Rule,
		notFound:   rule.ErrNotFound,
		duplicate:  rule.ErrDuplicate,
		conflict:   rule.ErrConflict,
	}
}

func (rs rules) List(ctx context.Context, q rule.Query) (rule.Page, error) {
	match := func(r *rule.Rule) bool { return q.Status == "" || r.Status == q.Status }
	recs, total, err := rs.list(ctx, q.Owner, match, q.Page, q.PageSize)
	if err != nil {
		return rule.Page{}, err
	}
	return rule.Page{Rules: recs, Total: total, Page: q.Page, PageSize: q.PageSize}, nil
}
