package xapitest

import (
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/rule/query"
)

// Rule is one of the filtered stream.
type Rule struct{ ID, Value, Tag string }

// rule is a Rule that posts are matched with from a time on.
type rule struct {
	Rule
	query *query.Program
	live  time.Time
}

const maxRuleLength = 1024

// Rules returns those that there are.
func (s *Server) Rules() (all []Rule) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.streams.rules {
		all = append(all, r.Rule)
	}
	return all
}

// AddRule adds a rule, as another program does. It panics if it is not valid.
func (s *Server) AddRule(value, tag string) (id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r, p := s.addRule(value, tag)
	if p != nil {
		panic(p["title"])
	}
	return r.ID
}

// addRule adds a rule, or says why not.
func (s *Server) addRule(value, tag string) (*rule, object) {
	const problems = "https://api.twitter.com/2/problems/"
	q, _, err := query.Parse(value, query.Options{Dialect: query.V2Stream, Now: s.cfg.Now})
	if err != nil || utf8.RuneCountInString(value) > maxRuleLength {
		return nil, object{"value": value, "details": []string{"the rule is not valid"}, "title": "UnprocessableEntity", "type": problems + "invalid-rules"}
	}
	for _, r := range s.streams.rules {
		if r.Value == value {
			return nil, object{"value": value, "id": r.ID, "title": "DuplicateRule", "type": problems + "duplicate-rules"}
		}
	}
	if len(s.streams.rules) >= s.cfg.MaxRules {
		return nil, object{"value": value, "title": "RulesCapExceeded", "detail": "Your rules cap is exceeded", "type": problems + "rule-cap"}
	}
	s.streams.lastID++
	r := &rule{Rule: Rule{ID: strconv.Itoa(s.streams.lastID), Value: value, Tag: tag}, query: q, live: s.cfg.Now().Add(s.cfg.RuleDelay)}
	s.streams.rules = append(s.streams.rules, r)
	return r, nil
}

func ruleJSON(r *rule) object {
	o := object{"id": r.ID, "value": r.Value}
	if r.Tag != "" {
		o["tag"] = r.Tag
	}
	return o
}

func (s *Server) ruleRoutes() {
	const path = "/2/tweets/search/stream/rules"
	s.mux.HandleFunc("GET "+path, func(w http.ResponseWriter, r *http.Request) {
		if !s.take(w, "GET rules", 450) {
			return
		}
		s.mu.Lock()
		var all []object
		for _, rule := range s.streams.rules {
			all = append(all, ruleJSON(rule))
		}
		s.mu.Unlock()
		writeList(w, r, all)
	})
	s.mux.HandleFunc("POST "+path, s.changeRules)
}

func (s *Server) changeRules(w http.ResponseWriter, r *http.Request) {
	if !s.take(w, "POST rules", 100) {
		return
	}
	var want struct {
		Add    []struct{ Value, Tag string } `json:"add"`
		Delete struct {
			IDs []string `json:"ids"`
		} `json:"delete"`
	}
	if err := json.NewDecoder(r.Body).Decode(&want); err != nil || len(want.Add)+len(want.Delete.IDs) == 0 {
		writeProblem(w, http.StatusBadRequest, object{"title": "Invalid Request", "detail": "want add or delete", "type": "https://api.twitter.com/2/problems/invalid-request"})
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	answer := object{}
	var made, faults []object
	for _, a := range want.Add {
		if rule, fault := s.addRule(a.Value, a.Tag); fault != nil {
			faults = append(faults, fault)
		} else {
			made = append(made, ruleJSON(rule))
		}
	}
	before := len(s.streams.rules)
	s.streams.rules = slices.DeleteFunc(s.streams.rules, func(r *rule) bool { return slices.Contains(want.Delete.IDs, r.ID) })
	deleted := before - len(s.streams.rules)
	answer["meta"] = object{"sent": s.cfg.Now().UTC().Format(timeLayout), "summary": object{"created": len(made), "not_created": len(faults), "deleted": deleted, "not_deleted": len(want.Delete.IDs) - deleted}}
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
	writeJSON(w, status, answer)
}

// pushMatch sends a post to the filtered streams. s.mu is held.
func (s *Server) pushMatch(p *post) {
	t := fetcher.Tweet{ID: p.id, Text: p.text, FullText: p.text, UserID: p.author.id, Username: p.author.username, PublishedAt: p.at, Lang: "en",
		IsRetweet: p.relation == "retweeted", IsQuoteStatus: p.relation == "quoted"}
	if p.relation == "replied_to" {
		t.InReplyToStatusID, t.InReplyToUserID = p.ref.id, p.ref.author.id
	}
	var matching []object
	for _, r := range s.streams.rules {
		if !r.live.After(s.cfg.Now()) && r.query.Match(&t) {
			matching = append(matching, object{"id": r.ID, "tag": r.Tag})
		}
	}
	if len(matching) > 0 {
		s.push(filteredStream, object{"data": p.tweet(), "matching_rules": matching}, "post", p.id)
	}
}

// connectionRoutes tell of connections, and end them.
func (s *Server) connectionRoutes() {
	s.mux.HandleFunc("GET /2/connections", func(w http.ResponseWriter, r *http.Request) {
		if !s.take(w, "GET connections", 25) {
			return
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		all := []object{}
		for _, c := range s.streams.conns {
			if kind := r.URL.Query().Get("endpoints"); kind == "" || kind == c.kind {
				all = append(all, object{"id": c.id, "endpoint_name": c.kind, "connected_at": "2026-08-07T00:00:00.000Z"})
			}
		}
		writeJSON(w, http.StatusOK, object{"data": all, "meta": object{"result_count": len(all)}})
	})
	s.mux.HandleFunc("DELETE /2/connections/{kind}", func(w http.ResponseWriter, r *http.Request) {
		if !s.take(w, "DELETE connections", 25) {
			return
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		before := len(s.streams.conns)
		s.streams.conns = slices.DeleteFunc(s.streams.conns, func(c *conn) bool {
			kind := r.PathValue("kind")
			if kind != "all" && kind != c.kind {
				return false
			}
			c.end()
			return true
		})
		n := before - len(s.streams.conns)
		writeJSON(w, http.StatusOK, object{"data": object{"successful_kills": n, "failed_kills": 0}})
	})
}
