package xapi

import (
	"context"
	"encoding/json"
	"log/slog"
	"strings"
	"sync"
	"time"
)

const (
	// ruleAfter is when a new rule is in force, at the latest.
	ruleAfter = 20 * time.Second
	// maxAdded is how many rules one call adds.
	maxAdded = 100
)

// rules are those of a program, for the queries that are wanted. It is safe for
// concurrent use.
type rules struct {
	client *client
	tag    string
	most   int
	log    *slog.Logger
	live   *since
	refuse *refusals // tags of rules that X does not take

	mu      sync.Mutex
	wanted  []*wantedRule
	byTag   map[string]*wantedRule
	own     map[string]string // ids by tag
	surplus []string          // ids of own ones that there are twice
	foreign int               // rules of other programs
	shared  map[string]string // tags of wanted rules that another program has, by id
	full    bool              // X takes no more
}

func newRules(c *client, cfg *FilteredStreamConfig, live *since, refuse *refusals) *rules {
	return &rules{client: c, tag: cfg.Tag, most: cfg.MaxRules, log: cfg.Logger, live: live, refuse: refuse, byTag: map[string]*wantedRule{}}
}

// want takes over the rules that are wanted.
func (r *rules) want(wanted []*wantedRule) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.wanted, r.byTag = wanted, make(map[string]*wantedRule, len(wanted))
	for _, w := range wanted {
		r.byTag[w.tag] = w
	}
}

// force gives the queries whose rules are in force.
func (r *rules) force() (f force) {
	r.mu.Lock()
	defer r.mu.Unlock()
	shared := map[string]bool{}
	for _, tag := range r.shared {
		shared[tag] = true
	}
	now := time.Now()
	for _, w := range r.wanted {
		id, own := r.own[w.tag]
		if !own && !shared[w.tag] {
			continue
		}
		f.some = true
		if at := r.live.of(id); at.After(now) {
			if f.changes.IsZero() || at.Before(f.changes) {
				f.changes = at
			}
			continue
		}
		f.sig.Queries = append(f.sig.Queries, w.queries...)
	}
	return f
}

// matched gives the queries that stand behind the rules that a post matches.
func (r *rules) matched(matching []rule) (queries []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	done := map[string]bool{}
	for _, m := range matching {
		tag := m.Tag
		if t := r.shared[string(m.ID)]; t != "" {
			tag = t
		}
		if w := r.byTag[tag]; w != nil && !done[tag] {
			done[tag] = true
			queries = append(queries, w.queries...)
		}
	}
	return queries
}

// mine reports whether a tag is one of the program's.
func (r *rules) mine(tag string) bool {
	hash, ok := strings.CutPrefix(tag, r.tag+":")
	return ok && len(hash) == ruleHash && strings.Trim(hash, "0123456789abcdef") == ""
}

// list reads the app's rules.
func (r *rules) list(ctx context.Context) error {
	own, foreign := map[string]string{}, map[string]bool{}
	var surplus []string
	err := pages(ctx, r.client, rulesPath, func(data []byte) error {
		var page list[rule]
		if err := json.Unmarshal(data, &page); err != nil {
			return err
		}
		for _, it := range page {
			switch _, twice := own[it.Tag]; {
			case !r.mine(it.Tag):
				foreign[string(it.ID)] = true
			case twice:
				surplus = append(surplus, string(it.ID))
			default:
				own[it.Tag] = string(it.ID)
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	shared := map[string]string{}
	for id, tag := range r.shared {
		if foreign[id] {
			shared[id] = tag
		}
	}
	r.own, r.surplus, r.foreign, r.shared, r.full = own, surplus, len(foreign), shared, false
	return nil
}

// step deletes rules that are not wanted any more, and else adds some that are missing.
func (r *rules) step(ctx context.Context) (bool, error) {
	r.mu.Lock()
	gone, ids := r.unneeded()
	missing := r.missing()
	if len(missing) == 0 && len(ids) == 0 && r.refuse.crowd(len(r.lacking(len(r.wanted)))) {
		r.log.Warn("xapi: no room for some rules: their queries are searched for", "most", r.most)
	}
	r.mu.Unlock()
	switch {
	case len(ids) > 0:
		return true, r.remove(ctx, gone, ids)
	case len(missing) > 0:
		return true, r.add(ctx, missing)
	}
	return false, nil
}

// unneeded gives own rules that are not wanted, as many as one call deletes.
func (r *rules) unneeded() (gone, ids []string) {
	ids = append(ids, r.surplus[:min(len(r.surplus), maxDeleted)]...)
	for tag, id := range r.own {
		if len(ids) == maxDeleted {
			break
		}
		if r.byTag[tag] == nil {
			gone, ids = append(gone, tag), append(ids, id)
		}
	}
	return gone, ids
}

// missing gives wanted rules that X does not have, as many as one call adds and as there
// is room for.
func (r *rules) missing() []*wantedRule {
	if r.full {
		return nil
	}
	return r.lacking(min(r.most-r.foreign-len(r.own), maxAdded))
}

// lacking gives wanted rules that X does not have, so many at most.
func (r *rules) lacking(most int) (lacking []*wantedRule) {
	shared := map[string]bool{}
	for _, tag := range r.shared {
		shared[tag] = true
	}
	for _, w := range r.wanted {
		if len(lacking) >= most {
			break
		}
		if _, own := r.own[w.tag]; !own && !shared[w.tag] && !r.refuse.has(w.tag) {
			lacking = append(lacking, w)
		}
	}
	return lacking
}
