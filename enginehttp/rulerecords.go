package enginehttp

import (
	"context"
	"strconv"

	"github.com/streamwatch/streamwatch/billing"
	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/internal/control"
	"github.com/streamwatch/streamwatch/rule"
	"github.com/streamwatch/streamwatch/secret"
)

var ruleFields = []string{"tag", "query", "interval_seconds", "schedule", "max_results_per_poll", "webhook_url", "webhook_secret"}

// records returns what serves the records of rules.
func (h ruleAPI) records() sourceAPI[rule.Rule] {
	rules := h.engine.Rules()
	return sourceAPI[rule.Rule]{
		id: "rule_id", list: "rules", get: rules.Get, remove: rules.DeleteVersion, create: h.createRule, update: h.updateRule,
		page: func(ctx context.Context, owner, status string, page, size int) ([]rule.Rule, int, error) {
			got, err := rules.Page(ctx, rule.Query{Owner: owner, Status: rule.Status(status), Page: page, PageSize: size})
			return got.Rules, got.Total, err
		},
		charged: h.charged,
		ref:     func(r *rule.Rule) (string, int64) { return r.ID, r.Version },
		append:  h.appendRule,
	}
}

func (h ruleAPI) appendRule(b []byte, r *rule.Rule, generated secret.Value, charged credits) []byte {
	b = fetcher.AppendString(append(b, `{"id":`...), r.ID)
	b = fetcher.AppendString(append(b, `,"tag":`...), r.Tag)
	b = fetcher.AppendString(append(b, `,"query":`...), r.Query)
	if r.Platform != "" {
		b = fetcher.AppendString(append(b, `,"platform":`...), r.Platform)
	}
	if b = append(b, `,"interval_seconds":`...); r.Schedule == "" {
		b = strconv.AppendFloat(b, r.Interval.Seconds(), 'f', -1, 64)
	} else {
		b = append(b, "null"...)
	}
	b = appendNullable(append(b, `,"schedule":`...), r.Schedule)
	b = strconv.AppendInt(append(b, `,"max_results_per_poll":`...), int64(r.MaxResults), 10)
	b = appendWebhook(b, r.WebhookURL, r.WebhookSecretSet, generated)
	b = fetcher.AppendString(append(b, `,"status":`...), string(r.Status))
	b = appendNullable(append(b, `,"status_reason":`...), r.StatusReason)
	if h.opts.Ledger != nil {
		price := h.engine.PriceRule(*r)
		b = appendCredits(append(b, `,"credits_per_day":`...), roundUp(price.PerDay))
		b = appendCredits(append(b, `,"credits_per_rule_per_day":`...), roundUp(price.PerDay))
		b = fetcher.AppendString(append(b, `,"pricing_tier":`...), price.Tier)
		b = appendCredits(append(b, `,"total_credits_burned":`...), billing.Credits(charged))
	}
	b = appendTime(append(b, `,"created_at":`...), r.CreatedAt)
	b = appendTime(append(b, `,"updated_at":`...), r.UpdatedAt)
	return append(b, '}')
}

// charged returns the total charges of each rule, with one call of the ledger.
func (h ruleAPI) charged(ctx context.Context, rules []rule.Rule) ([]credits, error) {
	out := make([]credits, len(rules))
	if h.opts.Ledger == nil || len(rules) == 0 {
		return out, nil
	}
	sources := make([]billing.Source, len(rules))
	for i := range rules {
		sources[i] = billing.Source{Owner: rules[i].Owner, Kind: billing.KindRule, ID: rules[i].ID}
	}
	totals, err := h.opts.Ledger.Totals(ctx, sources...)
	if err != nil {
		return nil, err
	}
	for i, total := range totals {
		out[i] = -credits(total)
	}
	return out, nil
}

func (h ruleAPI) createRule(c *call) (rule.Rule, secret.Value, error) {
	f := c.form
	q := rule.CreateRequest{Owner: c.who.Owner, Tag: f.need("tag", "1 to 100 characters"), Query: f.need("query", "1 to 1,024 characters"), Platform: f.optional("platform"),
		Schedule: f.optional("schedule"), WebhookURL: f.optional("webhook_url"), WebhookSecret: secret.Value(f.optional("webhook_secret"))}
	if iv := pace(f); iv != nil {
		q.Interval = *iv
	}
	if n := results(f); n != nil {
		q.MaxResults = *n
	}
	if f.err != nil {
		return rule.Rule{}, "", f.err
	}
	r, err := h.engine.Rules().Create(c.Context(), q)
	return r.Rule, r.WebhookSecret, err
}

// updateRule changes a rule. An interval replaces a schedule and vice versa; null leaves either
// unchanged.
func (h ruleAPI) updateRule(c *call, id string, common control.Request) (rule.Rule, secret.Value, error) {
	f := c.form
	q := rule.UpdateRequest{
		Tag: f.text("tag"), Query: f.text("query"), Interval: pace(f), MaxResults: results(f),
		WebhookURL: common.WebhookURL, WebhookSecret: common.WebhookSecret, Status: (*rule.Status)(common.Status), Version: common.Version,
	}
	if f.has("schedule") && !f.isNull("schedule") {
		q.Schedule = f.text("schedule")
	}
	if f.err != nil {
		return rule.Rule{}, "", f.err
	}
	r, err := h.engine.Rules().Update(c.Context(), c.who.Owner, id, q)
	return r.Rule, r.WebhookSecret, err
}

// ruleLogs lists the deliveries of one rule. An unknown rule is a 404.
func (h ruleAPI) ruleLogs(c *call) (reply, error) {
	r, err := h.engine.Rules().Get(c.Context(), c.who.Owner, c.PathValue("rule_id"))
	if err != nil {
		return reply{}, err
	}
	return h.logPage(c, c.params(), deliver.LogQuery{SourceKind: deliver.SourceRule, SourceID: r.ID})
}
