package main

import (
	"slices"
	"testing"
	"time"
)

// What a process lost as it died is sent again by the next, and counts for nothing.
func TestSoundOutcomes(t *testing.T) {
	another := func(visits []visit, life int) []visit {
		v := visits[0]
		v.Life = life
		return append([]visit{v}, visits...)
	}
	remove := func(o *outcome, event int) {
		o.Retaining = true
		o.State.Removed = []string{o.State.Events[event].ID}
		o.State.Events = slices.Delete(o.State.Events, event, event+1)
		o.State.Deliveries = slices.Delete(o.State.Deliveries, 2*event, 2*event+2)
	}
	for _, row := range []struct {
		name string
		do   func(*outcome)
	}{
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
		{"removed after it was taken", func(o *outcome) { remove(o, 0) }},
		{"removed after it was refused for good", func(o *outcome) {
			visits := o.Requests[o.State.Deliveries[5].ID]
			for i := range visits[:5] {
				visits[i].Status = 0
			}
			o.Unanswered[o.State.Deliveries[5].ID] = 1 // one of three 500 and this: of the others nobody was told
			remove(o, 2)
		}},
	} {
		o := healthy()
		row.do(o)
		found := slices.DeleteFunc(checkRest(o), func(v violation) bool { return v.Invariant == "I5" || v.Invariant == "I8" }) // its charges and replays stay
		if len(found) > 0 {
			t.Errorf("%s: found %v", row.name, found)
		}
	}
}

func TestSentAfter(t *testing.T) {
	later := func(o *outcome) {
		for _, rf := range o.Customers.Endpoints["whk_"+rich].Replays {
			rf.Asked = time.Now().Add(time.Second)
		}
	}
	for _, row := range []struct {
		name string
		do   func(*outcome)
		want int
	}{
		{"nothing was sent", func(*outcome) {}, 0},
		{"what was delivered came again", func(o *outcome) {
			id := o.State.Deliveries[1].ID
			o.Requests[id] = append(o.Requests[id], visit{Life: 3})
		}, 1},
		{"what was delivered came late", func(o *outcome) {
			id := o.State.Deliveries[1].ID
			o.Requests[id] = append(o.Requests[id], visit{Life: 2})
		}, 0},
		{"what was handled was handled again", func(o *outcome) {
			id := o.State.Deliveries[0].Event
			o.Handled[id] = append(o.Handled[id], visit{Life: 3})
		}, 1},
		{"what was delivered is open", func(o *outcome) { o.State.Deliveries[1].State = statePending }, 1},
		{"what had failed was not sent by a replay", later, 1},
		{"what had failed was sent by a replay", func(o *outcome) {
			later(o)
			d := &o.State.Deliveries[5]
			d.Attempts = append(d.Attempts, d.Attempts[:maxAttempts]...)
		}, 0},
		{"what had failed was removed with its endpoint", func(o *outcome) {
			later(o)
			o.Customers.Endpoints["whk_"+rich].DeleteAsked = at(50)
		}, 0},
	} {
		o, ends := healthy(), make(map[string]ending)
		if found := sentAfter(ends, o, false); len(found) > 0 {
			t.Fatalf("%s: found %v at first", row.name, found)
		}
		row.do(o)
		if found := sentAfter(ends, o, true); len(found) != row.want {
			t.Errorf("%s: found %v, want %d violations", row.name, found, row.want)
		}
	}
}
