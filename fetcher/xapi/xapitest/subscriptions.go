package xapitest

import (
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// Subscription is a subscription of the Activity API.
type Subscription struct {
	ID, EventType, UserID, Tag string
}

const (
	listPage         = 1000 // subscriptions or rules per page
	maxSubscriptions = 1500
)

// activity manages the subscriptions.
type activity struct {
	streams   *Streams
	all       []*Subscription
	last      int
	lastEvent int64
}

// Subscriptions returns all subscriptions.
func (st *Streams) Subscriptions() (all []Subscription) {
	st.s.mu.Lock()
	defer st.s.mu.Unlock()
	for _, sub := range st.activity.all {
		all = append(all, *sub)
	}
	return all
}

// Subscribe adds a subscription of another program and returns its id.
func (st *Streams) Subscribe(eventType, userID, tag string) (id string) {
	st.s.mu.Lock()
	defer st.s.mu.Unlock()
	return st.activity.subscribe(eventType, userID, tag).ID
}

func (a *activity) subscribe(eventType, userID, tag string) *Subscription {
	a.last++
	sub := &Subscription{ID: strconv.Itoa(a.last), EventType: eventType, UserID: userID, Tag: tag}
	a.all = append(a.all, sub)
	return sub
}

func subscriptionJSON(sub *Subscription) object {
	return object{"subscription_id": sub.ID, "event_type": sub.EventType, "filter": object{"user_id": sub.UserID}, "tag": sub.Tag, "created_at": "2026-08-07T00:00:00.000Z"}
}

func (a *activity) routes() {
	s := a.streams.s
	s.handle(getSubscriptions, getSubscriptions, func(c *call) {
		var all []object
		for _, sub := range a.all {
			all = append(all, subscriptionJSON(sub))
		}
		c.list(all)
	})
	s.handle(postSubscriptions, postSubscriptions, a.create)
	s.handle(deleteSubscriptions, deleteSubscriptions, a.delete)
}

// list answers with the page that pagination_token selects.
func (c *call) list(all []object) {
	from, _ := strconv.Atoi(c.query.Get("pagination_token"))
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
	c.answer(answer)
}

func (a *activity) create(c *call) {
	var want struct {
		EventType string `json:"event_type"`
		Tag       string `json:"tag"`
		Filter    struct {
			UserID string `json:"user_id"`
		} `json:"filter"`
	}
	if err := json.NewDecoder(c.r.Body).Decode(&want); err != nil || want.EventType == "" || want.Filter.UserID == "" {
		writeProblem(c.w, http.StatusBadRequest, object{"title": "Invalid Request", "detail": "One or more parameters to your request was invalid.", "type": "https://api.x.com/2/problems/invalid-request"})
		return
	}
	for _, sub := range a.all {
		if sub.EventType == want.EventType && sub.UserID == want.Filter.UserID {
			writeProblem(c.w, http.StatusConflict, object{"title": "Conflict", "detail": "Duplicate subscription.", "type": "about:blank"})
			return
		}
	}
	if len(a.all) >= maxSubscriptions {
		writeProblem(c.w, http.StatusForbidden, object{"title": "Forbidden", "detail": "The limit of subscriptions is reached.", "type": "https://api.x.com/2/problems/client-forbidden"})
		return
	}
	sub := a.subscribe(want.EventType, want.Filter.UserID, want.Tag)
	writeJSON(c.w, http.StatusCreated, object{"data": []object{subscriptionJSON(sub)}, "meta": object{"total_subscriptions": len(a.all)}})
}

func (a *activity) delete(c *call) {
	ids := strings.Split(c.query.Get("ids"), ",")
	if ids[0] == "" || len(ids) > 100 {
		writeProblem(c.w, http.StatusBadRequest, object{"title": "Invalid Request", "detail": "ids: 1 to 100 are allowed", "parameter": "ids", "type": "https://api.x.com/2/problems/invalid-request"})
		return
	}
	a.all = slices.DeleteFunc(a.all, func(sub *Subscription) bool { return slices.Contains(ids, sub.ID) })
	c.answer(object{"data": object{"deleted": true}, "meta": object{"total_subscriptions": len(a.all)}})
}

// push sends an event to the activity stream if there is a subscription to it. The caller holds
// a.streams.s.mu.
func (a *activity) push(kind string, p *post, payload, included object) {
	for _, sub := range a.all {
		if sub.EventType != kind || sub.UserID != p.author.id || p.author.protected {
			continue
		}
		a.lastEvent++
		id := a.lastEvent
		if id%2 == 0 { // X also sends negative ids
			id = -id
		}
		uuid := strconv.FormatInt(id, 10)
		a.streams.push(activityStream, object{"data": object{"event_uuid": uuid, "filter": object{"user_id": sub.UserID}, "event_type": kind, "tag": sub.Tag,
			"payload": payload, "includes": included}}, "event", uuid)
	}
}

// Unsubscribe deletes a subscription.
func (st *Streams) Unsubscribe(id string) {
	st.s.mu.Lock()
	defer st.s.mu.Unlock()
	st.activity.all = slices.DeleteFunc(st.activity.all, func(sub *Subscription) bool { return sub.ID == id })
}
