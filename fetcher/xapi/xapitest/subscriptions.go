package xapitest

import (
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// Subscription is one of the Activity API.
type Subscription struct {
	ID, EventType, UserID, Tag string
}

type subscription = Subscription

const listPage = 1000 // what a page of subscriptions or rules has

// Subscriptions returns those that there are.
func (s *Server) Subscriptions() []Subscription {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []Subscription
	for _, sub := range s.streams.subscriptions {
		all = append(all, *sub)
	}
	return all
}

// Subscribe adds a subscription, as another program does.
func (s *Server) Subscribe(eventType, userID, tag string) (id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.subscribe(eventType, userID, tag).ID
}

func (s *Server) subscribe(eventType, userID, tag string) *subscription {
	s.streams.lastID++
	sub := &subscription{ID: strconv.Itoa(s.streams.lastID), EventType: eventType, UserID: userID, Tag: tag}
	s.streams.subscriptions = append(s.streams.subscriptions, sub)
	return sub
}

func subscriptionJSON(sub *subscription) object {
	return object{"subscription_id": sub.ID, "event_type": sub.EventType, "filter": object{"user_id": sub.UserID}, "tag": sub.Tag, "created_at": "2026-08-07T00:00:00.000Z"}
}

func (s *Server) subscriptionRoutes() {
	const path = "/2/activity/subscriptions"
	s.mux.HandleFunc("GET "+path, s.listSubscriptions)
	s.mux.HandleFunc("POST "+path, s.createSubscription)
	s.mux.HandleFunc("DELETE "+path, s.deleteSubscriptions)
}

func (s *Server) listSubscriptions(w http.ResponseWriter, r *http.Request) {
	if !s.take(w, "GET subscriptions", 500) {
		return
	}
	s.mu.Lock()
	var all []object
	for _, sub := range s.streams.subscriptions {
		all = append(all, subscriptionJSON(sub))
	}
	s.mu.Unlock()
	writeList(w, r, all)
}

// writeList answers with a page of a list.
func writeList(w http.ResponseWriter, r *http.Request, all []object) {
	from, _ := strconv.Atoi(r.URL.Query().Get("pagination_token"))
	from = min(max(from, 0), len(all))
	to := min(from+listPage, len(all))
	meta := object{"result_count": to - from}
	if to < len(all) {
		meta["next_token"] = strconv.Itoa(to)
	}
	answer := object{"meta": meta}
	if to > from {
		answer["data"] = all[from:to]
	}
	writeJSON(w, http.StatusOK, answer)
}

func (s *Server) createSubscription(w http.ResponseWriter, r *http.Request) {
	if !s.take(w, "POST subscriptions", 500) {
		return
	}
	var want struct {
		EventType string `json:"event_type"`
		Tag       string `json:"tag"`
		Filter    struct {
			UserID string `json:"user_id"`
		} `json:"filter"`
	}
	if err := json.NewDecoder(r.Body).Decode(&want); err != nil || want.EventType == "" || want.Filter.UserID == "" {
		writeProblem(w, http.StatusBadRequest, object{"title": "Invalid Request", "detail": "One or more parameters to your request was invalid.", "type": "https://api.x.com/2/problems/invalid-request"})
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, sub := range s.streams.subscriptions {
		if sub.EventType == want.EventType && sub.UserID == want.Filter.UserID {
			writeProblem(w, http.StatusConflict, object{"title": "Conflict", "detail": "Duplicate subscription.", "type": "about:blank"})
			return
		}
	}
	if len(s.streams.subscriptions) >= s.cfg.MaxSubscriptions {
		writeProblem(w, http.StatusForbidden, object{"title": "Forbidden", "detail": "The limit of subscriptions is reached.", "type": "https://api.x.com/2/problems/client-forbidden"})
		return
	}
	sub := s.subscribe(want.EventType, want.Filter.UserID, want.Tag)
	writeJSON(w, http.StatusCreated, object{"data": []object{subscriptionJSON(sub)}, "meta": object{"total_subscriptions": len(s.streams.subscriptions)}})
}

func (s *Server) deleteSubscriptions(w http.ResponseWriter, r *http.Request) {
	if !s.take(w, "DELETE subscriptions", 500) {
		return
	}
	ids := strings.Split(r.URL.Query().Get("ids"), ",")
	if ids[0] == "" || len(ids) > 100 {
		writeProblem(w, http.StatusBadRequest, object{"title": "Invalid Request", "detail": "ids: 1 to 100 are allowed", "parameter": "ids", "type": "https://api.x.com/2/problems/invalid-request"})
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.streams.subscriptions = slices.DeleteFunc(s.streams.subscriptions, func(sub *subscription) bool { return slices.Contains(ids, sub.ID) })
	writeJSON(w, http.StatusOK, object{"data": object{"deleted": true}, "meta": object{"total_subscriptions": len(s.streams.subscriptions)}})
}

// pushPosted sends a post to the streams. s.mu is held.
func (s *Server) pushPosted(p *post) {
	included := object{"tweets": []object{p.tweet()}, "users": []object{p.author.user()}}
	if p.ref != nil {
		included["tweets"] = []object{p.tweet(), p.ref.tweet()}
	}
	s.pushEvent("post.create", p, p.tweet(), included)
	s.pushMatch(p)
}

// pushDeleted sends a deletion to the streams. s.mu is held.
func (s *Server) pushDeleted(p *post) {
	s.pushEvent("post.delete", p, object{"id": p.id, "author_id": p.author.id}, object{"users": []object{{"data": p.author.user()}}})
}

func (s *Server) pushEvent(kind string, p *post, payload, included object) {
	for _, sub := range s.streams.subscriptions {
		if sub.EventType != kind || sub.UserID != p.author.id || p.author.protected {
			continue
		}
		s.streams.lastEvent++
		id := s.streams.lastEvent
		if id%2 == 0 { // as X does
			id = -id
		}
		uuid := strconv.FormatInt(id, 10)
		s.push(activityStream, object{"data": object{"event_uuid": uuid, "filter": object{"user_id": sub.UserID}, "event_type": kind, "tag": sub.Tag,
			"payload": payload, "includes": included}}, "event", uuid)
	}
}
