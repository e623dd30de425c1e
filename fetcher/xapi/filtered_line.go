package xapi

import (
	"encoding/json"

	"github.com/streamwatch/streamwatch/fetcher"
)

// match is a line of the filtered stream.
type match struct {
	Data     *post     `json:"data"`
	Includes includes  `json:"includes"`
	Rules    []rule    `json:"matching_rules"`
	Errors   []problem `json:"errors"` // with Data: records that X could not include
}

// signal converts a line to a signal. An unreadable line becomes a SignalGap. A post that
// matches only rules of other programs becomes a SignalHeartbeat.
func (r *rules) signal(line []byte) (fetcher.Signal, error) {
	var v match
	if badSyntax(json.Unmarshal(line, &v)) {
		return fetcher.Signal{Kind: fetcher.SignalGap}, nil
	}
	if v.Data == nil {
		return notData(v.Errors)
	}
	if v.Data.ID == "" {
		return fetcher.Signal{Kind: fetcher.SignalGap}, nil
	}
	now, ledger := r.client.now(), r.client.ledger
	sig := fetcher.Signal{Kind: fetcher.SignalHeartbeat, Billed: v.Includes.bill(ledger, now)}
	sig.Billed.Posts += ledger.charge(now, billedPost, v.Data.ID)
	if queries := r.matched(v.Rules); len(queries) > 0 {
		t := v.Data.tweet(v.Data.publishedAt(), &v.Includes)
		sig.Kind, sig.Post, sig.Queries = fetcher.SignalPost, &t, queries
	}
	return sig, nil
}

// matched returns the queries of the matching rules.
func (r *rules) matched(matching []rule) (queries []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	done := map[string]bool{}
	for _, m := range matching {
		if w := r.byTag[m.Tag]; w != nil && !done[m.Tag] {
			done[m.Tag] = true
			queries = append(queries, w.queries...)
		}
	}
	return queries
}
