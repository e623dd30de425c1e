package enginehttp

import (
	"errors"
	"strings"
	"time"

	"github.com/streamwatch/streamwatch/billing"
	"github.com/streamwatch/streamwatch/rule/query"
)

// ruleAPI serves filter rules.
type ruleAPI struct{ *Handler }

// validation is the result of checking a query.
type validation struct {
	Valid      bool     `json:"valid"`
	Query      string   `json:"query"`
	Error      *string  `json:"error"`
	Warnings   []string `json:"warnings"`
	Normalized *string  `json:"normalized"` // null when it is not valid
}

func (h ruleAPI) validateRule(c *call) (reply, error) {
	text := c.form.text("query")
	if text == nil {
		c.form.refuse("query", "a string")
		return reply{}, c.form.err
	}
	program, warnings, err := h.engine.Rules().Parse(*text)
	out := validation{Valid: err == nil, Query: *text, Warnings: make([]string, len(warnings))}
	for i, w := range warnings {
		out.Warnings[i] = w.String()
	}
	var syntax *query.SyntaxError
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

// sampleIntervals are the intervals for which prices are shown.
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
	Tiers   []ruleTier  `json:"tiers"`
}

// ruleTier is a price and the longest interval that it applies to.
type ruleTier struct {
	ID                   int     `json:"id"`
	TierLabel            string  `json:"tier_label"`
	MaxIntervalSeconds   float64 `json:"max_interval_seconds"`
	CreditsPerRulePerDay credits `json:"credits_per_rule_per_day"`
	DisplayOrder         int     `json:"display_order"`
}

// ruleTiers finds the tiers of a price list by asking for the prices of sample intervals. The bounds of
// tiers are exact to the millisecond. It misses tiers that lie between two samples.
func ruleTiers(list billing.Pricing) []ruleTier {
	var tiers []ruleTier
	add := func(longest time.Duration) {
		p, n := list.Rule(longest), len(tiers)+1
		tiers = append(tiers, ruleTier{n, p.Tier, longest.Seconds(), credits(roundUp(p.PerDay)), n})
	}
	for i, to := range sampleIntervals[1:] {
		from := sampleIntervals[i]
		if list.Rule(from) == list.Rule(to) {
			continue
		}
		for to-from > time.Millisecond {
			middle := (from + (to-from)/2).Truncate(time.Millisecond)
			if list.Rule(middle) == list.Rule(sampleIntervals[i]) {
				from = middle
			} else {
				to = middle
			}
		}
		add(from)
	}
	add(sampleIntervals[len(sampleIntervals)-1])
	return tiers
}

func (h ruleAPI) rulePricing(*call) (reply, error) {
	list := h.engine.Pricing()
	out := rulePrices{Pricing: make([]rulePrice, len(sampleIntervals)), Tiers: ruleTiers(list)}
	for i, iv := range sampleIntervals {
		p := list.Rule(iv)
		out.Pricing[i] = rulePrice{iv.Seconds(), credits(roundUp(p.PerDay)), p.Tier}
	}
	return reply{value: out}, nil
}
