package xapitest

import (
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/streamwatch/streamwatch/rule/query"
)

// Rule is a rule of the filtered stream.
type Rule struct{ ID, Value, Tag string }

// rule is a Rule and the time from which the stream uses it.
type rule struct {
	Rule
	query *query.Program
	live  time.Time
}

const (
	maxRuleLength = 1024
	ruleDelay     = 10 * time.Second // from a rule's creation until it is in use
)

// filter manages the rules of the filtered stream.
type filter struct {
	streams *Streams
	rules   []*rule
	last    int
}

// Rules returns all rules.
func (st *Streams) Rules() (all []Rule) {
	st.s.mu.Lock()
	defer st.s.mu.Unlock()
	for _, r := range st.filter.rules {
		all = append(all, r.Rule)
	}
	return all
}

// AddRule adds a rule of another program and returns its id. It panics if the rule is not valid.
func (st *Streams) AddRule(value, tag string) (id string) {
	st.s.mu.Lock()
	defer st.s.mu.Unlock()
	r, p := st.filter.add(value, tag)
	if p != nil {
		panic(p["title"])
	}
	return r.ID
}

// add adds a rule. If the rule is not allowed, add returns the problem instead.
func (f *filter) add(value, tag string) (*rule, object) {
	const problems = "https://api.twitter.com/2/problems/"
	q, _, err := query.Parse(value, query.Options{Dialect: query.V2Stream, Now: f.streams.s.cfg.Now})
	if err != nil || utf8.RuneCountInString(value) > maxRuleLength {
		return nil, object{"value": value, "details": []string{"the rule is not valid"}, "title": "UnprocessableEntity", "type": problems + "invalid-rules"}
	}
	for _, r := range f.rules {
		if r.Value == value {
			return nil, object{"value": value, "id": r.ID, "title": "DuplicateRule", "type": problems + "duplicate-rules"}
		}
	}
	if len(f.rules) >= f.streams.s.cfg.MaxRules {
		return nil, object{"value": value, "title": "RulesCapExceeded", "detail": "Your rules cap is exceeded", "type": problems + "rule-cap"}
	}
	f.last++
	r := &rule{Rule: Rule{ID: strconv.Itoa(f.last), Value: value, Tag: tag}, query: q, live: f.streams.s.cfg.Now().Add(ruleDelay)}
	f.rules = append(f.rules, r)
	return r, nil
}

func ruleJSON(r *rule) object {
	o := object{"id": r.ID, "value": r.Value}
	if r.Tag != "" {
		o["tag"] = r.Tag
	}
	return o
}

func (f *filter) routes() {
	f.streams.s.handle(getRules, getRules, func(c *call) {
		var all []object
		for _, rule := range f.rules {
			all = append(all, ruleJSON(rule))
		}
		c.list(all)
	})
	f.streams.s.handle(postRules, postRules, f.change)
}

func (f *filter) change(c *call) {
	var want struct {
		Add    []struct{ Value, Tag string } `json:"add"`
		Delete struct {
			IDs []string `json:"ids"`
		} `json:"delete"`
	}
	if err := json.NewDecoder(c.r.Body).Decode(&want); err != nil || len(want.Add)+len(want.Delete.IDs) == 0 {
		writeProblem(c.w, http.StatusBadRequest, object{"title": "Invalid Request", "detail": "want add or delete", "type": "https://api.twitter.com/2/problems/invalid-request"})
		return
	}
	answer := object{}
	var made, faults []object
	for _, a := range want.Add {
		if rule, fault := f.add(a.Value, a.Tag); fault != nil {
			faults = append(faults, fault)
		} else {
			made = append(made, ruleJSON(rule))
		}
	}
	before := len(f.rules)
	f.rules = slices.DeleteFunc(f.rules, func(r *rule) bool { return slices.Contains(want.Delete.IDs, r.ID) })
	deleted := before - len(f.rules)
	answer["meta"] = object{"sent": f.streams.s.cfg.Now().UTC().Format(timeLayout), "summary": object{"created": len(made), "not_created": len(faults), "deleted": deleted, "not_deleted": len(want.Delete.IDs) - deleted}}
	if len(made) > 0 {
		answer["data"] = made
	}
	if len(faults) > 0 {
		answer["errors"] = faults
	}
	status := http.StatusCreated
	if len(made) == 0 && deleted == 0 {
		status = http.StatusBadRequest
		answer["title"], answer["type"] = "Invalid Request", "https://api.twitter.com/2/problems/invalid-request"
	}
	writeJSON(c.w, status, answer)
}

// push sends a post to the filtered streams. The caller holds f.streams.s.mu.
func (f *filter) push(p *post) {
	t := p.record()
	var matching []object
	for _, r := range f.rules {
		if !r.live.After(f.streams.s.cfg.Now()) && r.query.Match(&t) {
			matching = append(matching, object{"id": r.ID, "tag": r.Tag})
		}
	}
	if len(matching) > 0 {
		f.streams.push(filteredStream, object{"data": p.tweet(), "matching_rules": matching}, "post", p.id)
	}
}

// connectionRoutes adds the endpoint that ends connections.
func (st *Streams) connectionRoutes() {
	st.s.handle(deleteConnections, deleteConnections, func(c *call) {
		before := len(st.conns)
		st.conns = slices.DeleteFunc(st.conns, func(o *conn) bool {
			kind := c.r.PathValue("kind")
			if kind != "all" && kind != o.kind {
				return false
			}
			o.end()
			return true
		})
		c.answer(object{"data": object{"successful_kills": before - len(st.conns), "failed_kills": 0}})
	})
}
