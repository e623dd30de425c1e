package rule

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/streamwatch/streamwatch/internal/control"
	"github.com/streamwatch/streamwatch/internal/invalid"
	"github.com/streamwatch/streamwatch/record"
	"github.com/streamwatch/streamwatch/rule/query"
)

// Parsed is a rule's parsed query and schedule.
type Parsed struct {
	Query    *query.Program
	Schedule *Schedule // nil for a rule with an interval
}

// kind describes rules to package control.
func (m *Manager) kind() control.Kind[Rule, Parsed] {
	return control.Kind[Rule, Parsed]{
		Kind: record.Rule, Prefix: "rul_", ErrNotFound: ErrNotFound, ErrDuplicate: ErrDuplicate, ErrConflict: ErrConflict,
		Encode: Rule.Record, Decode: FromRecord,
		Head: func(r *Rule) control.Head {
			return control.Head{ID: &r.ID, Owner: &r.Owner, WebhookURL: &r.WebhookURL, WebhookID: &r.WebhookID, WebhookSecretSet: &r.WebhookSecretSet,
				Status: (*control.Status)(&r.Status), StatusReason: &r.StatusReason,
				CreatedAt: &r.CreatedAt, UpdatedAt: &r.UpdatedAt, ResumedAt: &r.ResumedAt, Version: &r.Version}
		},
		Check:   m.check,
		Parse:   m.ParseRule,
		Restart: func(r *Rule, now time.Time) { r.Since = now },
		Advance: m.advance,
		Affects: m.affects,
	}
}

// affects reports whether a rule makes the search of a failure, or has the author whose account
// fails.
func (m *Manager) affects(r *Rule, what string) bool {
	p, _, err := query.Parse(r.Query, m.cfg.Parse)
	if err != nil {
		return false
	}
	if text, search := strings.CutPrefix(what, "?"); search {
		return text == p.Canonical()
	}
	name := strings.ToLower(strings.TrimPrefix(what, "@")) // may begin with the platform and a colon
	return slices.ContainsFunc(p.Authors(), func(author string) bool { return name == author || strings.HasSuffix(name, ":"+author) })
}

// check validates the fields that only rules have. It returns the parsed query and schedule.
func (m *Manager) check(r *Rule) (Parsed, error) {
	if !invalid.Name(r.Tag, MaxTag) {
		return Parsed{}, invalid.Field("rule", "tag", r.Tag, "1 to 100 printable characters")
	}
	if err := r.Validate(); err != nil {
		return Parsed{}, err
	}
	if r.Platform != "" && !slices.Contains(m.cfg.Platforms, r.Platform) {
		return Parsed{}, m.badPlatform(r.Platform)
	}
	p, err := m.ParseRule(r)
	if err != nil && p.Query == nil {
		err = fmt.Errorf("%w: %w", invalid.Field("rule", "query", r.Query, "a query of the dialect "+m.cfg.Parse.Dialect.String()), err)
	}
	return p, err
}

func (m *Manager) badPlatform(name string) error {
	allowed := "no platform: there is only one"
	if len(m.cfg.Platforms) > 0 {
		allowed = "one of " + strings.Join(m.cfg.Platforms, ", ")
	}
	return invalid.Field("rule", "platform", name, allowed)
}

// ParseRule parses the query of a rule, and then its schedule. If the error is of the query,
// p.Query is nil. If it is of the schedule, p.Query is set.
func (m *Manager) ParseRule(r *Rule) (p Parsed, err error) {
	if p.Query, _, err = query.Parse(r.Query, m.cfg.Parse); err != nil {
		return Parsed{}, err
	}
	if r.Schedule != "" {
		p.Schedule, err = ParseSchedule(r.Schedule)
	}
	if p.Schedule != nil {
		m.paces.add(r.Schedule, p.Schedule, m.base.Now())
	}
	return p, err
}

// advance sets Since to the time up to which polls have read the rule's posts.
func (m *Manager) advance(ctx context.Context, r *Rule) error {
	until, err := m.cfg.Tracker.ReadUntil(ctx, r.ID)
	if err == nil && until.After(r.Since) {
		r.Since = until.UTC()
	}
	return err
}
