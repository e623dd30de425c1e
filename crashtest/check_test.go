package main

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/deliver"
)

// healthy is a small outcome in which everything is as it should be: a monitor
// of each customer, three posts, a webhook each; one delivery was retried and
// came twice, one was given up.
func healthy() *outcome {
	o := &outcome{Requests: make(map[string][]visit), Handled: make(map[string][]visit), Customers: newFacts(), Life: 2}
	s := &o.State
	s.Cursors, s.Balances = map[string]time.Time{"account:nasa": at(50)}, make(map[string]balance)
	for i := range 3 {
		o.Shown = append(o.Shown, post{"nasa", fmt.Sprint(700 + i), at(10 + i), at(10 + i)})
	}
	for _, owner := range []string{rich, poor} {
		source, hookID := "mon_"+owner, "whk_"+owner
		url := "http://receiver/hook/" + owner
		w := watch{source, owner, owner + "'s", true, []accountSince{{"nasa", at(1)}}, hook{url, hookID}}
		s.Monitors = append(s.Monitors, w)
		s.Endpoints = append(s.Endpoints, endpoint{hookID, source, url})
		wf := o.Customers.noteWatch(&w)
		wf.Told, wf.Fixed, wf.Last = at(1), true, &w
		o.Customers.noteEndpoint(endpoint{hookID, source, url}).Told = at(1)
		topUp := entry{"top-up-" + owner, owner, 1000, 1000}
		s.Entries = append(s.Entries, topUp)
		o.Customers.Entries[topUp.ID] = &entryFacts{Owner: owner, Amount: 1000, Must: true}
		balanceNow := int64(1000)
		for i, p := range o.Shown {
			ev := event{ID: eventID(source, p.ID), Owner: owner, Source: source, Tweet: p.ID, Author: "nasa", Seq: int64(i + 1), Committed: at(20 + i)}
			s.Events = append(s.Events, ev)
			balanceNow -= detectionPrice
			s.Entries = append(s.Entries, entry{chargeID(ev.ID), owner, -detectionPrice, balanceNow})
			body := sha256.Sum256([]byte(ev.ID))
			o.Handled[ev.ID] = []visit{{Path: handlerPath, Body: body, Status: 200, Life: 1}}
			toHandler := delivery{deliveryID(ev.ID, handlerEndpoint), ev.ID, handlerEndpoint, stateDelivered, false, []attempt{{1, 0, ""}}}
			toHook := delivery{deliveryID(ev.ID, hookID), ev.ID, hookID, stateDelivered, false, []attempt{{1, 200, ""}}}
			visits := []visit{{Path: "/hook/" + owner, Endpoint: hookID, Body: body, Signed: true, Source: source, Tweet: p.ID, Status: 200, Life: 1}}
			switch i {
			case 1: // asked for waits, was retried, and got it again after a crash
				taken := visits[0]
				toHook.Attempts, visits = nil, nil
				for n, status := range []int{429, 429, 429, 429, 500} {
					toHook.Attempts = append(toHook.Attempts, attempt{n + 1, status, "refused"})
					visits = append(visits, taken)
					visits[n].Status = status
				}
				toHook.Attempts, visits = append(toHook.Attempts, attempt{6, 200, ""}), append(visits, taken, taken)
				visits[6].Life = 2
			case 2: // given up
				toHook.State, toHook.Attempts = stateFailed, nil
				for n := range maxAttempts {
					toHook.Attempts = append(toHook.Attempts, attempt{n + 1, 500, "status 500"})
				}
				visits[0].Status = 500
				visits = []visit{visits[0], visits[0], visits[0], visits[0]}
			}
			s.Deliveries = append(s.Deliveries, toHandler, toHook)
			o.Requests[toHook.ID] = visits
		}
		s.Balances[owner] = balance{balanceNow - 100, 100}
	}
	s.Rules = []filterRule{{"rul_1", "a rule", hook{"http://receiver/hook/rule", "whk_rule"}}}
	s.Endpoints = append(s.Endpoints, endpoint{"whk_rule", "rul_1", "http://receiver/hook/rule"})
	o.Customers.Rules["rul_1"] = &recordFacts{Told: at(1)}
	return o
}

func at(seconds int) time.Time { return time.Date(2026, 1, 2, 3, 4, seconds, 0, time.UTC) }

// Each row does one thing to a healthy outcome that must not happen.
func TestViolationsAreFound(t *testing.T) {
	event := func(o *outcome, i int) *event { return &o.State.Events[i] }
	hookDelivery := func(o *outcome) *delivery { return &o.State.Deliveries[1] }
	firstRequests := func(o *outcome) []visit { return o.Requests[hookDelivery(o).ID] }
	for _, row := range []struct {
		name, invariant string
		do              func(*outcome)
	}{
		{"a lost post", "I1", func(o *outcome) {
			o.Shown = append(o.Shown, post{"nasa", "703", at(55), at(55)})
		}},
		{"a detection with its deliveries and charge is gone", "I1", func(o *outcome) {
			id := event(o, 2).ID
			o.State.Events = slices.Delete(o.State.Events, 2, 3)
			o.State.Deliveries = slices.DeleteFunc(o.State.Deliveries, func(d delivery) bool { return d.Event == id })
			o.State.Entries = slices.DeleteFunc(o.State.Entries, func(e entry) bool { return e.ID == chargeID(id) })
		}},
		{"a doubled detection under another id", "I1", func(o *outcome) {
			e := *event(o, 0)
			e.ID, e.Seq = "evt_other", 4
			o.State.Events = append(o.State.Events, e)
		}},
		{"the same detection twice", "I1", func(o *outcome) { o.State.Events = append(o.State.Events, *event(o, 0)) }},
		{"a post from before the monitor", "I1", func(o *outcome) { o.Shown[0].Published = at(0).Add(-time.Minute) }},
		{"a post that was never shown", "I1", func(o *outcome) { o.Shown = o.Shown[1:] }},
		{"a number left out", "I2", func(o *outcome) { event(o, 2).Seq = 4 }},
		{"a missing delivery to a webhook", "I2", func(o *outcome) { o.State.Deliveries = slices.Delete(o.State.Deliveries, 1, 2) }},
		{"a missing delivery to the handler", "I2", func(o *outcome) { o.State.Deliveries = slices.Delete(o.State.Deliveries, 0, 1) }},
		{"a delivery twice", "I2", func(o *outcome) { o.State.Deliveries = append(o.State.Deliveries, *hookDelivery(o)) }},
		{"a delivery without its event", "I2", func(o *outcome) { hookDelivery(o).Event = "evt_none" }},
		{"a delivery to another monitor's webhook", "I2", func(o *outcome) { hookDelivery(o).Endpoint = "whk_" + poor }},
		{"sent before it was recorded", "I2", func(o *outcome) {
			v := firstRequests(o)[0]
			v.Tweet = "709"
			o.Requests[deliveryID(eventID(v.Source, v.Tweet), v.Endpoint)] = []visit{v}
		}},
		{"handled before it was recorded", "I2", func(o *outcome) { o.Handled["evt_none"] = nil }},
		{"sent twice by one process", "I3", func(o *outcome) {
			o.Requests[hookDelivery(o).ID] = append(firstRequests(o), firstRequests(o)[0])
		}},
		{"sent twice by one of two processes", "I3", func(o *outcome) {
			o.Shared = true
			visits := append(firstRequests(o), firstRequests(o)[0], firstRequests(o)[0])
			visits[0].Life = 2
			o.Requests[hookDelivery(o).ID] = visits
		}},
		{"sent more often than processes died", "I3", func(o *outcome) {
			id := o.State.Deliveries[3].ID
			visits := append(o.Requests[id], o.Requests[id][6])
			o.Requests[id] = visits
		}},
		{"handled twice by one process", "I3", func(o *outcome) {
			id := event(o, 0).ID
			o.Handled[id] = append(o.Handled[id], o.Handled[id][0])
		}},
		{"an attempt 5", "I3", func(o *outcome) {
			d := &o.State.Deliveries[5]
			d.Attempts = append(d.Attempts, attempt{5, 500, "status 500"})
		}},
		{"given up for waits", "I3", func(o *outcome) {
			d := &o.State.Deliveries[5]
			d.Attempts[1] = attempt{2, 429, "status 429"}
		}},
		{"an attempt that is not recorded", "I3", func(o *outcome) { hookDelivery(o).Attempts[0].N = 2 }},
		{"given up early", "I3", func(o *outcome) {
			d := &o.State.Deliveries[5]
			d.Attempts = d.Attempts[:3]
		}},
		{"a delivery that does not end", "I3", func(o *outcome) {
			d := hookDelivery(o)
			d.State, d.Open, d.Attempts = statePending, true, nil
		}},
		{"delivered, and attempted again", "I3", func(o *outcome) { hookDelivery(o).Open = true }},
		{"delivered, and never received", "I3", func(o *outcome) { delete(o.Requests, hookDelivery(o).ID) }},
		{"an answer that was never given", "I3", func(o *outcome) {
			d := &o.State.Deliveries[3]
			o.Requests[d.ID] = o.Requests[d.ID][2:]
		}},
		{"delivered, and refused", "I3", func(o *outcome) { firstRequests(o)[0].Status = 500 }},
		{"delivered, and refused by the handler", "I3", func(o *outcome) { o.Handled[event(o, 0).ID][0].Status = 500 }},
		{"delivered, and never handled", "I3", func(o *outcome) { delete(o.Handled, event(o, 0).ID) }},
		{"different bytes on a retry", "I4", func(o *outcome) { o.Requests[o.State.Deliveries[3].ID][1].Body[0]++ }},
		{"different bytes for the handler", "I4", func(o *outcome) { o.Handled[event(o, 0).ID][0].Body[0]++ }},
		{"a wrong signature", "I4", func(o *outcome) { firstRequests(o)[0].Signed = false }},
		{"another delivery id", "I4", func(o *outcome) { o.Requests["dlv_other"] = firstRequests(o) }},
		{"the same charge twice", "I5", func(o *outcome) { o.State.Entries = append(o.State.Entries, o.State.Entries[1]) }},
		{"a charge twice under another id", "I5", func(o *outcome) {
			e := o.State.Entries[3]
			e.ID, e.Balance = e.ID+"-again", e.Balance-detectionPrice
			o.State.Entries = slices.Insert(o.State.Entries, 4, e)
			o.State.Balances[rich] = balance{e.Balance - 100, 100}
		}},
		{"a missing charge", "I5", func(o *outcome) {
			o.State.Entries = slices.Delete(o.State.Entries, 3, 4)
			o.State.Balances[rich] = balance{1000 - 2*detectionPrice - 100, 100}
		}},
		{"a charge for nothing", "I5", func(o *outcome) {
			o.State.Entries = slices.Insert(o.State.Entries, 4, entry{chargeID("evt_none"), rich, -detectionPrice, 1000 - 4*detectionPrice})
			o.State.Balances[rich] = balance{1000 - 4*detectionPrice - 100, 100}
		}},
		{"a negative balance", "I5", func(o *outcome) { o.State.Entries[2].Balance = -1 }},
		{"an entry from whose balance a reservation is subtracted", "I5", func(o *outcome) { o.State.Entries[2].Balance -= 100 }},
		{"an owner who owes", "I5", func(o *outcome) { o.State.Balances[rich] = balance{-100, 1079} }},
		{"a balance that is not the sum", "I5", func(o *outcome) { o.State.Balances[rich] = balance{1000, 100} }},
		{"a lost top-up", "I5", func(o *outcome) { o.Customers.Entries["lost"] = &entryFacts{Owner: rich, Amount: 5, Must: true} }},
		{"an entry that was refused", "I5", func(o *outcome) { o.Customers.Entries["top-up-"+rich].Never = true }},
		{"an entry of another amount", "I5", func(o *outcome) { o.Customers.Entries["top-up-"+rich].Amount = 999 }},
		{"a cursor ahead of a post", "I6", func(o *outcome) { o.Shown = append(o.Shown, post{"nasa", "703", at(40), at(41)}) }},
		{"a monitor that was confirmed is gone", "records", func(o *outcome) { o.State.Monitors = o.State.Monitors[1:] }},
		{"a monitor that was deleted is back", "records", func(o *outcome) { o.Customers.Watches["mon_"+rich].Deleted = at(40) }},
		{"a monitor that has forgotten an account", "records", func(o *outcome) { o.State.Monitors[0].Accounts = nil }},
		{"a monitor that is paused again", "records", func(o *outcome) { o.State.Monitors[0].Active = false }},
		{"an endpoint that was confirmed is gone", "records", func(o *outcome) { o.State.Endpoints = o.State.Endpoints[1:] }},
		{"a webhook of a monitor that does not exist", "records", func(o *outcome) {
			o.State.Endpoints = append(o.State.Endpoints, endpoint{"whk_orphan", "mon_never", "http://receiver/orphan"})
		}},
		{"a rule that was confirmed is gone", "records", func(o *outcome) { o.State.Rules = nil }},
		{"a rule that was deleted is back", "records", func(o *outcome) { o.Customers.Rules["rul_1"].Deleted = at(40) }},
		{"a monitor that shows another webhook's id", "records", func(o *outcome) { o.State.Monitors[0].Hook.ID = "whk_" + poor }},
		{"a monitor that shows another URL than its webhook", "records", func(o *outcome) { o.State.Endpoints[0].URL += "/moved" }},
		{"a rule that shows an id without a URL", "records", func(o *outcome) { o.State.Rules[0].Hook.URL = "" }},
		{"a rule that shows a webhook which is gone", "records", func(o *outcome) {
			o.State.Endpoints = slices.DeleteFunc(o.State.Endpoints, func(e endpoint) bool { return e.Source == "rul_1" })
		}},
		{"a damaged file", "store", func(o *outcome) { o.State.Damage = "row 3 is missing from index" }},
	} {
		t.Run(row.name, func(t *testing.T) {
			o := healthy()
			row.do(o)
			found := check(o, make(map[string]int), true)
			if !slices.ContainsFunc(found, func(v violation) bool { return v.Invariant == row.invariant }) {
				t.Errorf("found %v, want a violation of %s", found, row.invariant)
			}
		})
	}
}

// The restated formulas are the ones on the wire.
func TestIDs(t *testing.T) {
	event := deliver.EventID("mon_1", "42")
	if got := eventID("mon_1", "42"); got != event {
		t.Errorf("event id %s, want %s", got, event)
	}
	if got, want := deliveryID(event, "whk_1"), deliver.DeliveryID(event, "whk_1"); got != want {
		t.Errorf("delivery id %s, want %s", got, want)
	}
	if handlerEndpoint != deliver.HandlerEndpoint("default") {
		t.Errorf("handler's endpoint %s, want %s", handlerEndpoint, deliver.HandlerEndpoint("default"))
	}
	key, body := webhookKey("/hook"), []byte("body")
	if got, want := signature(key, body), deliver.Sign(deliver.Secret(key), body); got != want {
		t.Errorf("signature %s, want %s", got, want)
	}
}

// What a process lost as it died is sent again by the next, and counts for nothing.
func TestSoundOutcomes(t *testing.T) {
	another := func(visits []visit, life int) []visit {
		v := visits[0]
		v.Life = life
		return append([]visit{v}, visits...)
	}
	for _, row := range []struct {
		name string
		do   func(*outcome)
	}{
		{"as it should be", func(*outcome) {}},
		{"sent by two that died", func(o *outcome) {
			id := o.State.Deliveries[1].ID
			o.Requests[id] = another(another(o.Requests[id], 3), 4)
		}},
		{"handled by one that died", func(o *outcome) {
			id := o.State.Events[0].ID
			o.Handled[id] = another(o.Handled[id], 3)
		}},
		{"sent by two at once, each attempt", func(o *outcome) {
			o.Shared = true
			id := o.State.Deliveries[3].ID
			for i := range o.Requests[id][:6] {
				o.Requests[id] = append(o.Requests[id], o.Requests[id][i])
				o.Requests[id][len(o.Requests[id])-1].Life = 3
			}
		}},
		{"sent by one to a webhook that was deleted meanwhile", func(o *outcome) {
			d := &o.State.Deliveries[1]
			d.State, d.Attempts = stateFailed, nil
			o.Customers.Endpoints[d.Endpoint].DeleteAsked = at(30)
		}},
	} {
		o := healthy()
		row.do(o)
		if found := check(o, make(map[string]int), true); len(found) > 0 {
			t.Errorf("%s: found %v", row.name, found)
		}
	}
}

func TestDeliveredStaysDelivered(t *testing.T) {
	for _, row := range []struct {
		name string
		do   func(*outcome)
		want bool
	}{
		{"nothing was sent", func(*outcome) {}, false},
		{"it came again", func(o *outcome) {
			v := o.Requests[o.State.Deliveries[1].ID][0]
			v.Life = 3
			o.Requests[o.State.Deliveries[1].ID] = append(o.Requests[o.State.Deliveries[1].ID], v)
		}, true},
		{"it was handled again", func(o *outcome) {
			id := o.State.Deliveries[0].Event
			v := o.Handled[id][0]
			v.Life = 3
			o.Handled[id] = append(o.Handled[id], v)
		}, true},
		{"it is open", func(o *outcome) { o.State.Deliveries[1].State, o.State.Deliveries[1].Open = statePending, true }, true},
	} {
		o, ends := healthy(), make(map[string]int)
		check(o, ends, false)
		row.do(o)
		if found := check(o, ends, false); slices.ContainsFunc(found, func(v violation) bool { return v.Invariant == "I3" && strings.Contains(v.Text, "was delivered, and ") }) != row.want {
			t.Errorf("%s: found %v, want a violation %t", row.name, found, row.want)
		}
	}
}
