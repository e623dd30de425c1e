package enginehttp

import (
	"context"
	"net/http"
	"time"

	"github.com/streamwatch/streamwatch/billing"
	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/rule"
	"github.com/streamwatch/streamwatch/secret"
)

var ruleFields = []string{"tag", "query", "interval_seconds", "schedule", "max_results_per_poll", "webhook_url", "webhook_secret"}

// ruleRecord is a filter rule. WebhookSecret is set only if the request generated one.
type ruleRecord struct {
	ID                 string      `json:"id"`
	Tag                string      `json:"tag"`
	Query              string      `json:"query"`
	Platform           string      `json:"platform,omitempty"`
	IntervalSeconds    *float64    `json:"interval_seconds"`
	Schedule           *string     `json:"schedule"`
	MaxResultsPerPoll  int         `json:"max_results_per_poll"`
	WebhookURL         *string     `json:"webhook_url"`
	WebhookSecretSet   bool        `json:"webhook_secret_set"`
	WebhookSecret      string      `json:"webhook_secret,omitempty"`
	Status             rule.Status `json:"status"`
	StatusReason       *string     `json:"status_reason"`
	CreditsPerDay      credits     `json:"credits_per_day"`
	CreditsPerRule     credits     `json:"credits_per_rule_per_day"` // the same as credits_per_day
	PricingTier        string      `json:"pricing_tier"`
	TotalCreditsBurned credits     `json:"total_credits_burned"`
	CreatedAt          string      `json:"created_at"`
	UpdatedAt          string      `json:"updated_at"`
}

func (h ruleAPI) ruleRecord(r *rule.Rule, generated secret.Value) ruleRecord {
	price := h.engine.PriceRule(*r)
	perDay := credits(roundUp(price.PerDay))
	out := ruleRecord{
		ID: r.ID, Tag: r.Tag, Query: r.Query, Platform: r.Platform, Schedule: nullable(r.Schedule), MaxResultsPerPoll: r.MaxResults,
		WebhookURL: nullable(r.WebhookURL), WebhookSecretSet: r.WebhookSecretSet, WebhookSecret: string(generated),
		Status: r.Status, StatusReason: nullable(r.StatusReason), CreditsPerDay: perDay, CreditsPerRule: perDay, PricingTier: price.Tier,
		CreatedAt: timeText(r.CreatedAt), UpdatedAt: timeText(r.UpdatedAt),
	}
	if r.Schedule == "" {
		seconds := r.Interval.Seconds()
		out.IntervalSeconds = &seconds
	}
	return out
}

// charged returns the total charges of each rule, with one call of the ledger.
func (h ruleAPI) charged(ctx context.Context, rules ...rule.Rule) ([]credits, error) {
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

type rulePage struct {
	Rules []ruleRecord `json:"rules"`
	Total int          `json:"total"`
	paging
}

func (h ruleAPI) listRules(c *call) (reply, error) {
	p := c.params()
	pg := p.paging()
	status := p.oneOf("status", "", "active", "paused")
	if p.err != nil {
		return reply{}, p.err
	}
	list, total, err := readList(pg, func(page, size int) ([]rule.Rule, int, error) {
		got, err := h.engine.Rules().List(c.Context(), rule.Query{Owner: c.who.Owner, Status: rule.Status(status), Page: page, PageSize: size})
		return got.Rules, got.Total, err
	})
	if err != nil {
		return reply{}, err
	}
	charged, err := h.charged(c.Context(), list...)
	if err != nil {
		return reply{}, err
	}
	out := rulePage{Rules: make([]ruleRecord, len(list)), Total: total, paging: pg}
	for i := range list {
		out.Rules[i] = h.ruleRecord(&list[i], "")
		out.Rules[i].TotalCreditsBurned = charged[i]
	}
	return reply{value: out}, nil
}

// oneRule returns the answer with a rule and its total charges.
func (h ruleAPI) oneRule(c *call, status int, r *rule.Rule, generated secret.Value) (reply, error) {
	charged, err := h.charged(c.Context(), *r)
	if err != nil {
		return reply{}, err
	}
	out := h.ruleRecord(r, generated)
	out.TotalCreditsBurned = charged[0]
	return reply{status: status, version: r.Version, value: out}, nil
}

func (h ruleAPI) getRule(c *call) (reply, error) {
	r, err := h.engine.Rules().Get(c.Context(), c.who.Owner, c.PathValue("rule_id"))
	if err != nil {
		return reply{}, err
	}
	return h.oneRule(c, http.StatusOK, &r, "")
}

func (h ruleAPI) createRule(c *call) (reply, error) {
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
		return reply{}, f.err
	}
	r, err := h.engine.Rules().Create(c.Context(), q)
	if err != nil {
		return reply{}, err
	}
	// A new rule has no charges, so do not ask the ledger. If the ledger failed, the client would
	// not get the generated secret.
	out := h.ruleRecord(&r.Rule, r.WebhookSecret)
	return reply{status: http.StatusCreated, version: r.Version, value: out}, nil
}

// patchRule changes the fields that are present. An interval replaces a schedule and vice versa;
// null leaves either unchanged.
func (h ruleAPI) patchRule(c *call) (reply, error) {
	f := c.form
	q := rule.UpdateRequest{Tag: f.text("tag"), Query: f.text("query"), Interval: pace(f), MaxResults: results(f)}
	if f.has("schedule") && !f.isNull("schedule") {
		q.Schedule = f.text("schedule")
	}
	if f.has("webhook_url") {
		url := f.optional("webhook_url")
		q.WebhookURL = &url
	}
	if v := f.text("webhook_secret"); v != nil {
		q.WebhookSecret = (*secret.Value)(v)
	}
	if v := f.text("status"); v != nil {
		q.Status = (*rule.Status)(v)
	}
	q.Version = c.version
	if f.err != nil {
		return reply{}, f.err
	}
	r, err := h.engine.Rules().Update(c.Context(), c.who.Owner, c.PathValue("rule_id"), q)
	if err != nil {
		return reply{}, err
	}
	if r.WebhookSecret != "" { // the client must get the secret even if the ledger fails
		out := h.ruleRecord(&r.Rule, r.WebhookSecret)
		if charged, err := h.charged(c.Context(), r.Rule); err == nil {
			out.TotalCreditsBurned = charged[0]
		}
		return reply{version: r.Version, value: out}, nil
	}
	return h.oneRule(c, http.StatusOK, &r.Rule, "")
}

func (h ruleAPI) deleteRule(c *call) (reply, error) {
	return reply{status: http.StatusNoContent}, h.engine.Rules().DeleteVersion(c.Context(), c.who.Owner, c.PathValue("rule_id"), c.version)
}

// ruleLogs lists the deliveries of one rule. An unknown rule is a 404.
func (h ruleAPI) ruleLogs(c *call) (reply, error) {
	r, err := h.engine.Rules().Get(c.Context(), c.who.Owner, c.PathValue("rule_id"))
	if err != nil {
		return reply{}, err
	}
	return h.logPage(c, c.params(), deliver.LogQuery{SourceKind: deliver.SourceRule, SourceID: r.ID})
}

// pace returns interval_seconds, or nil if it is missing or null.
func pace(f *form) *time.Duration {
	if f.isNull("interval_seconds") {
		return nil
	}
	return f.seconds("interval_seconds")
}

// results returns max_results_per_poll, or nil if it is missing or null.
func results(f *form) *int {
	if f.isNull("max_results_per_poll") {
		return nil
	}
	n := field[int](f, "max_results_per_poll", "1 to 100")
	if n != nil && *n == 0 { // the manager would replace 0 with the default
		f.refuse("max_results_per_poll", "1 to 100")
	}
	return n
}
