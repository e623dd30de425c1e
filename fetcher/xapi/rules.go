package xapi

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/streamwatch/streamwatch/fetcher"
)

const (
	// ruleAfter is the longest time after which X uses a new rule.
	ruleAfter = 20 * time.Second
	// maxAdded is the largest number of rules in one call.
	maxAdded = 100
)

// rules manages the program's rules for the wanted queries. It implements feed, and holdings
// with the rules' tags as keys.
type rules struct {
	client *client
	tag    string // FilteredStreamConfig.Tag
	asks   string // the query parameters of a connection
	log    *slog.Logger
	upkeep *upkeep
	used   *atomic.Int64 // when X starts to use the newest rule, in Unix nanoseconds

	mu     sync.Mutex
	wanted []*wantedRule
	byTag  map[string]*wantedRule
}

// want replaces the wanted rules.
func (r *rules) want(wanted []*wantedRule) {
	byTag, tags := make(map[string]*wantedRule, len(wanted)), make([]string, len(wanted))
	for i, w := range wanted {
		byTag[w.tag], tags[i] = w, w.tag
	}
	r.mu.Lock()
	r.wanted, r.byTag = wanted, byTag
	r.mu.Unlock()
	r.upkeep.want(tags)
}

// force returns a signal with the queries whose rules X already uses. It reports whether X has
// any rule.
func (r *rules) force() (sig fetcher.Signal, some bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, w := range r.wanted {
		has, used := r.upkeep.has(w.tag)
		some = some || has
		if used {
			sig.Queries = append(sig.Queries, w.queries...)
		}
	}
	return sig, some
}

// open connects to the filtered stream. If X reports too many connections, open ends all
// of the app's connections to this stream and tries once more.
func (r *rules) open(ctx context.Context) (*http.Response, error) {
	resp, err := r.client.send(ctx, http.MethodGet, filteredPath, r.asks, nil)
	var limit *fetcher.RateLimitError
	if !errors.As(err, &limit) || limit.Reason != tooManyConnections {
		return resp, err
	}
	r.log.Warn("xapi: too many connections: ending those of the app's filtered stream that X still counts")
	if _, errEnd := r.client.call(ctx, http.MethodDelete, "/2/connections/filtered_stream", "", nil); errEnd != nil {
		return nil, errors.Join(err, errEnd)
	}
	return r.client.send(ctx, http.MethodGet, filteredPath, r.asks, nil)
}

func (*rules) batch() int            { return maxAdded }
func (r *rules) usedFrom() time.Time { return time.Unix(0, r.used.Load()) }

// mine reports whether tag is the tag of a rule of this program: see ruleTag.
func (r *rules) mine(tag string) bool {
	hash, ok := strings.CutPrefix(tag, r.tag+":")
	return ok && len(hash) == ruleHash && strings.Trim(hash, "0123456789abcdef") == ""
}

// list reads all rules of the app: see holdings.
func (r *rules) list(ctx context.Context) (own map[string]string, foreign int, err error) {
	own = map[string]string{}
	err = pages(ctx, r.client, rulesPath, func(it rule) {
		if r.mine(it.Tag) {
			own[it.Tag] = it.ID
		} else {
			foreign++
		}
	})
	return own, foreign, err
}

// add creates rules: see holdings. X may reject a whole call because of a single rule. add then
// returns as refused only the rules that the error names, and the others are tried again.
func (r *rules) add(ctx context.Context, tags []string) (made, refused map[string]string, err error) {
	made, refused = map[string]string{}, map[string]string{}
	var add []map[string]string
	tagOf := map[string]string{} // by value
	r.mu.Lock()
	for _, tag := range tags {
		if w := r.byTag[tag]; w != nil {
			add = append(add, map[string]string{"value": w.value, "tag": w.tag})
			tagOf[w.value] = w.tag
		}
	}
	r.mu.Unlock()
	if len(add) == 0 { // none is wanted any more
		return nil, nil, nil
	}
	a, err := r.client.call(ctx, http.MethodPost, rulesPath, "", map[string]any{"add": add})
	var errs []problem
	var bad *invalidRequest
	if errors.As(err, &bad) {
		errs = bad.problem.Errors
	} else if err != nil {
		return nil, nil, err
	} else if d, err := decode[rule](a.body); err != nil {
		return nil, nil, fmt.Errorf("xapi: cannot add rules: %w", err)
	} else {
		errs = d.Errors
		for _, it := range d.Data {
			made[it.Tag] = it.ID
			r.used.Store(time.Now().Add(ruleAfter).UnixNano())
		}
	}
	for i := range errs {
		if tag := tagOf[errs[i].Value]; tag != "" {
			refused[tag] = errs[i].text() + ": " + errs[i].Value
		}
	}
	if len(made) == 0 && len(refused) == 0 {
		return nil, nil, cmp.Or(err, fmt.Errorf("xapi: cannot add rules: %w: neither rules nor errors", fetcher.ErrMalformed))
	}
	return made, refused, nil
}

// remove deletes rules.
func (r *rules) remove(ctx context.Context, ids []string) error {
	_, err := r.client.call(ctx, http.MethodPost, rulesPath, "", map[string]any{"delete": map[string]any{"ids": ids}})
	return err
}

// rule is a rule in X's format.
type rule struct {
	ID  string `json:"id"`
	Tag string `json:"tag"`
}
