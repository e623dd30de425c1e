package memory_test

import (
	"context"
	"testing"

	"github.com/streamwatch/streamwatch/rule"
	"github.com/streamwatch/streamwatch/storage/memory"
)

func TestRules(t *testing.T) {
	records[rule.Rule]{
		open: openRole(func(s *memory.Store) versionedStore[rule.Rule] { return s.Rules() }),
		make: func(owner, id, tag, status string) rule.Rule {
			return rule.Rule{ID: id, Owner: owner, Tag: tag, Status: rule.Status(status), Version: 1}
		},
		id:      func(r rule.Rule) string { return r.ID },
		version: func(r *rule.Rule) *int64 { return &r.Version },
		rename:  func(r *rule.Rule, tag string) { r.Tag = tag },
		list: func(ctx context.Context, s versionedStore[rule.Rule], owner, status string, page, size int) ([]rule.Rule, int, error) {
			p, err := s.(rule.Store).List(ctx, rule.Query{Owner: owner, Status: rule.Status(status), Page: page, PageSize: size})
			return p.Rules, p.Total, err
		},
		notFound: rule.ErrNotFound, duplicate: rule.ErrDuplicate, conflict: rule.ErrConflict,
	}.run(t)
}

func TestMonitorsAndRulesAreApart(t *testing.T) {
	s := furnished(t) // a monitor and a rule with the same id, owner and name
	must(t, s.Rules().Delete(t.Context(), "acme", "kept"))
	_, err := s.Monitors().Get(t.Context(), "acme", "kept")
	must(t, err)
}
