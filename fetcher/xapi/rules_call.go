package xapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/streamwatch/streamwatch/fetcher"
)

// remove deletes rules.
func (r *rules) remove(ctx context.Context, gone, ids []string) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	_, err := r.client.call(ctx, http.MethodPost, rulesPath, nil, map[string]any{"delete": map[string]any{"ids": ids}})
	if err != nil && !errors.Is(err, fetcher.ErrNotFound) {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, tag := range gone {
		delete(r.own, tag)
	}
	r.surplus, r.full = r.surplus[len(ids)-len(gone):], false
	return nil
}

// add makes rules.
func (r *rules) add(ctx context.Context, missing []*wantedRule) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	add := make([]map[string]string, len(missing))
	for i, w := range missing {
		add[i] = map[string]string{"value": w.value, "tag": w.tag}
	}
	a, err := r.client.call(ctx, http.MethodPost, rulesPath, nil, map[string]any{"add": add})
	var bad *invalidRequest
	if errors.As(err, &bad) { // X has taken none of them, and may say which is at fault
		if r.blame(bad.problem.Errors, missing) {
			return nil
		}
		return err
	}
	if err != nil {
		return err
	}
	d, err := decodeDocument(a.body)
	if err != nil {
		return fmt.Errorf("xapi: adding rules: %w", err)
	}
	var made list[rule]
	if len(d.Data) > 0 {
		if err := json.Unmarshal(d.Data, &made); err != nil {
			return err
		}
	}
	some := r.made(made)
	if !r.blame(d.Errors, missing) && !some {
		return fmt.Errorf("xapi: adding rules: %w: neither rules nor errors", fetcher.ErrMalformed)
	}
	return nil
}

// made takes note of new rules, and reports whether there are any.
func (r *rules) made(made []rule) (some bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, it := range made {
		if it.ID != "" && r.mine(it.Tag) {
			r.own[it.Tag] = string(it.ID)
			r.live.made(string(it.ID))
			some = true
		}
	}
	return some
}

// blame takes note of what X says of each rule, and reports whether it says something of
// any.
func (r *rules) blame(errs []problem, missing []*wantedRule) (some bool) {
	byValue := map[string]*wantedRule{}
	for _, w := range missing {
		byValue[w.value] = w
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range errs {
		p := &errs[i]
		w := byValue[string(p.Value)]
		switch {
		case p.kind() == "rule-cap":
			some, r.full = true, true
		case w == nil:
		case p.kind() == "duplicate-rules" && p.ID != "":
			some, r.shared[string(p.ID)] = true, w.tag
		default:
			some = true
			if r.refuse.add(w.tag) {
				r.log.Warn("xapi: X does not take a rule: its query is searched for", "rule", w.value, "error", p.text())
			}
		}
	}
	return some
}

// rule is one as X writes it.
type rule struct {
	ID    ident  `json:"id"`
	Value string `json:"value"`
	Tag   string `json:"tag"`
}
