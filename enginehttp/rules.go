package enginehttp

import (
	"errors"
	"strings"
	"time"

	"github.com/streamwatch/streamwatch/rule"
)

// validation is what is right and wrong with a query.
type validation struct {
	Valid      bool     `json:"valid"`
	Query      string   `json:"query"`
	Error      *string  `json:"error"`
	Warnings   []string `json:"warnings"`
	Normalized *string  `json:"normalized"` // null when it is not valid
}

func (h *Handler) validateRule(c *call) (reply, error) {
	query := c.form.text("query")
	if query == nil {
		c.form.refuse("query", "a string")
		return reply{}, c.form.err
	}
	program, warnings, err := h.engine.Rules().Parse(*query)
	out := validation{Valid: err == nil, Query: *query, Warnings: make([]string, len(warnings))}
	for i, w := range warnings {
		out.Warnings[i] = w.String()
	}
	var syntax *rule.SyntaxError
	switch {
	case err == nil:
		text := program.String()
		out.Normalized = &text
	case errors.As(err, &syntax):
		lines := make([]string, len(syntax.Errors))
		for i, e := range syntax.Errors {
			lines[i] = e.String()
		}
		text := strings.Join(lines, "\n")
		out.Error = &text
	default:
		return reply{}, err
	}
	return reply{value: out}, nil
}

// sampleIntervals are those that the price list is shown for.
var sampleIntervals = []time.Duration{
	100 * time.Millisecond, 500 * time.Millisecond, time.Second, 5 * time.Second, 30 * time.Second,
	time.Minute, 5 * time.Minute, 10 * time.Minute, time.Hour, 24 * time.Hour,
}

type rulePrice struct {
	IntervalSeconds float64 `json:"interval_seconds"`
	CreditsPerDay   credits `json:"credits_per_day"`
	PricingTier     string  `json:"pricing_tier"`
}

type rulePrices struct {
	Pricing []rulePrice `json:"pricing"`
}

func (h *Handler) rulePricing(*call) (reply, error) {
	out := rulePrices{Pricing: make([]rulePrice, len(sampleIntervals))}
	for i, iv := range sampleIntervals {
		p := h.opts.Pricing.Rule(iv)
		out.Pricing[i] = rulePrice{iv.Seconds(), credits(roundUp(p.PerDay)), p.Tier}
	}
	return reply{value: out}, nil
}
