package xapi

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"unicode/utf8"

	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/rule/query"
)

// translations translates queries to rules and remembers the results. It is safe for
// concurrent use.
type translations struct {
	most int // length of the longest rule, in characters
	log  *slog.Logger

	mu    sync.Mutex
	known map[string]string // rule by query; "" if a query has no rule
}

// wantedRule is a rule and the queries that translate to it.
type wantedRule struct {
	tag, value string
	queries    []string
}

// of returns the rules for queries, in the same order and without duplicates. For each query
// that has no rule, it logs one message.
func (t *translations) of(tag string, queries []fetcher.SearchQuery) []*wantedRule {
	t.mu.Lock()
	defer t.mu.Unlock()
	var rules []*wantedRule
	known, byValue := make(map[string]string, len(queries)), map[string]*wantedRule{}
	for _, q := range queries {
		if _, twice := known[q.Query]; twice {
			continue
		}
		value, ok := t.known[q.Query]
		if !ok {
			var err error
			if value, err = translate(q.Query, t.most); err != nil {
				t.log.Info("xapi: cannot make a rule of a query: it is searched for instead", "query", q.Query, "error", err)
			}
		}
		known[q.Query] = value
		if value == "" {
			continue
		}
		r := byValue[value]
		if r == nil {
			r = &wantedRule{tag: ruleTag(tag, value), value: value}
			byValue[value] = r
			rules = append(rules, r)
		}
		r.queries = append(r.queries, q.Query)
	}
	t.known = known
	return rules
}

// translate returns the rule that matches exactly the posts of a query. It returns an error if
// there is no such rule, or if the rule has more than most characters.
func translate(text string, most int) (string, error) {
	p, _, err := query.Parse(text, query.Options{MaxLength: 1 << 20})
	if err != nil {
		return "", err
	}
	value, report := p.Translate(query.V2Stream)
	if !report.Exact() {
		return "", errors.New(report.Losses[0].String())
	}
	if n := utf8.RuneCountInString(value); n > most {
		return "", fmt.Errorf("the rule has %d characters: want %d at most", n, most)
	}
	return value, nil
}

// ruleHash is the length of the hash in a rule's tag, in hexadecimal digits.
const ruleHash = 16

func ruleTag(tag, value string) string {
	sum := sha256.Sum256([]byte(value))
	return tag + ":" + hex.EncodeToString(sum[:ruleHash/2])
}
