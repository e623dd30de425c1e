package storetest

import (
	"errors"
	"fmt"
	"time"

	"github.com/streamwatch/streamwatch/deliver"
)

// settleCases test the outcomes of attempts.
func settleCases() []storeCase {
	const retrying, delivered, failed = deliver.StateRetrying, deliver.StateDelivered, deliver.StateFailed
	type settlements = func(t *storeTest, id string) []deliver.Settlement
	try := func(t *storeTest, id string, n int, state deliver.State, due int) deliver.Settlement {
		return attempted(id, n, state, t.at(due))
	}
	back := func(t *storeTest, id string, due int) deliver.Settlement {
		return deliver.Settlement{DeliveryID: id, State: failed, Due: t.at(due)}
	}
	var cases []storeCase
	for _, row := range []struct {
		name  string
		calls settlements
		state deliver.State
		tries string // the log's attempts
		due   string // of NextDue
	}{
		{"a delivered one is final", func(t *storeTest, id string) []deliver.Settlement {
			return []deliver.Settlement{try(t, id, 1, delivered, 0)}
		}, delivered, "1", "none"},
		{"a failed one is final", func(t *storeTest, id string) []deliver.Settlement {
			return []deliver.Settlement{try(t, id, 1, failed, 0)}
		}, failed, "1", "none"},
		{"a retry is claimable when due", func(t *storeTest, id string) []deliver.Settlement {
			return []deliver.Settlement{try(t, id, 1, retrying, 90)}
		}, retrying, "1", "90"},
		{"the log has all attempts", func(t *storeTest, id string) []deliver.Settlement {
			return []deliver.Settlement{try(t, id, 1, retrying, 90), try(t, id, 2, delivered, 0)}
		}, delivered, "1 2", "none"},
		{"an attempt recorded already changes nothing", func(t *storeTest, id string) []deliver.Settlement {
			return []deliver.Settlement{try(t, id, 1, retrying, 90), try(t, id, 1, retrying, 500)}
		}, retrying, "1", "90"},
		{"an attempt recorded already changes nothing, whatever its outcome", func(t *storeTest, id string) []deliver.Settlement {
			return []deliver.Settlement{try(t, id, 1, retrying, 90), try(t, id, 1, failed, 0)}
		}, retrying, "1", "90"},
		{"an attempt before the last changes nothing when it is settled again", func(t *storeTest, id string) []deliver.Settlement {
			return []deliver.Settlement{try(t, id, 1, retrying, 90), try(t, id, 2, retrying, 100), try(t, id, 1, failed, 0)}
		}, retrying, "1 2", "100"},
		{"an attempt that comes after a later one is recorded, too", func(t *storeTest, id string) []deliver.Settlement {
			return []deliver.Settlement{try(t, id, 2, retrying, 90), try(t, id, 1, retrying, 30)}
		}, retrying, "2 1", "30"},
		{"an attempt after the end changes nothing", func(t *storeTest, id string) []deliver.Settlement {
			return []deliver.Settlement{try(t, id, 1, delivered, 0), try(t, id, 2, failed, 0)}
		}, delivered, "1", "none"},
		{"one given back is as before, and due when it says", func(t *storeTest, id string) []deliver.Settlement {
			return []deliver.Settlement{back(t, id, 30)}
		}, deliver.StatePending, "", "30"},
		{"one given back between attempts keeps its log", func(t *storeTest, id string) []deliver.Settlement {
			return []deliver.Settlement{try(t, id, 1, retrying, 90), back(t, id, 30)}
		}, retrying, "1", "30"},
		{"one given back after the end stays final", func(t *storeTest, id string) []deliver.Settlement {
			return []deliver.Settlement{try(t, id, 1, delivered, 0), back(t, id, 30)}
		}, delivered, "1", "none"},
	} {
		for _, how := range []string{"call by call", "in one call"} {
			cases = append(cases, storeCase{name: "Settle " + how + ": " + row.name, run: func(t *storeTest) {
				id := withDue(t, 0)[0].ID
				t.claim(t.start, 1)
				ss := row.calls(t, id)
				if how == "in one call" {
					t.settle(ss...)
				} else {
					for _, s := range ss {
						t.settle(s)
					}
				}
				e := t.entry("acme", id)
				expect(t, e.State, row.state, "State after Settle: %s", row.name)
				expect(t, joined(e.Log, func(a deliver.Attempt) string { return fmt.Sprint(a.N) }), row.tries, "Settle has to append each attempt to the delivery's log once: %s", row.name)
				expect(t, e.Attempts, len(e.Log), "Attempts has to count the attempts in the log")
				expect(t, t.nextDue(), row.due, "NextDue after Settle: %s", row.name)
			}})
		}
	}
	return append(append(cases, refusedSettlementCases()...),
		storeCase{name: "a retry can be claimed when due and not before", run: func(t *storeTest) {
			id := withDue(t, 0)[0].ID
			t.claim(t.start, 1)
			t.settle(attempted(id, 1, retrying, t.at(90)))
			expect(t, tweetsOf(t.claim(t.at(89), 1)), "", "Claim gave a retry before it was due")
			ds := t.claim(t.at(90), 1)
			if len(ds) != 1 {
				t.Fatalf("Claim gave %d deliveries at the very moment a retry was due, want 1", len(ds))
			}
			expect(t, ds[0].Attempts, 1, "a claimed delivery has to say how many attempts are recorded")
			expect(t, ds[0].State, retrying, "a claimed delivery has to say its state")
		}},
		storeCase{name: "Settle of nothing, and of what is unknown, changes nothing", run: func(t *storeTest) {
			withDue(t, 0)
			t.settle()
			t.settle(attempted("unknown", 1, delivered, t.start))
			expect(t, len(t.claim(t.start, 10)), 1, "Settle of an unknown delivery changed another one")
		}},
		storeCase{name: "an unknown delivery does not hinder the others of a call", run: func(t *storeTest) {
			id := withDue(t, 0)[0].ID
			t.settle(attempted("unknown", 1, delivered, t.start), attempted(id, 1, delivered, t.start))
			expect(t, t.entry("acme", id).State, delivered, "Settle left out a delivery because another of the call is gone")
		}},
		storeCase{name: "an attempt comes back as it was settled", run: func(t *storeTest) {
			id := withDue(t, 0)[0].ID
			try := fullAttempt(t)
			t.settle(deliver.Settlement{DeliveryID: id, Attempt: &try, State: failed})
			try.Error = "spoilt by the giver"
			for range 2 {
				e := t.entry("acme", id)
				t.same(e.Log, []deliver.Attempt{fullAttempt(t)}, "the log has another attempt than was settled, or shares memory with it")
				if len(e.Log) > 0 {
					e.Log[0].Error = "spoilt by the taker"
				}
			}
		}},
		storeCase{name: "a call of Settle is seen whole", run: wholeSettlements},
		storeCase{name: "a thousand outcomes in one call", run: func(t *storeTest) {
			var evs []deliver.Event
			for i := range 1024 {
				evs = append(evs, newEvent(acme, fmt.Sprint(i), "log"))
			}
			var ss []deliver.Settlement
			for _, d := range t.commitDue(t.start, evs...).Deliveries {
				ss = append(ss, attempted(d.ID, 1, delivered, t.start))
			}
			t.settle(ss...)
			expect(t, t.nextDue(), "none", "Settle left deliveries of a large call open")
			p, err := t.store.Ports().Log.Deliveries(t.Context(), deliver.LogQuery{Owner: "acme", State: delivered})
			t.ok(err, "Log.Deliveries")
			expect(t, p.Total, len(ss), "Settle lost outcomes of a large call")
		}},
	)
}

func fullAttempt(t *storeTest) deliver.Attempt {
	return deliver.Attempt{
		N: 1, At: t.start.Add(time.Microsecond), Duration: 1234567 * time.Microsecond, StatusCode: 503,
		Error: "503 Service Unavailable", ResponsePreview: "<html>\n\ttry later",
	}
}

// refusedSettlementCases: a settlement that is not allowed fails the whole call.
func refusedSettlementCases() []storeCase {
	var cases []storeCase
	for _, row := range []struct {
		name string
		bad  deliver.Settlement
	}{
		{"an attempt number of 0", deliver.Settlement{Attempt: &deliver.Attempt{}, State: deliver.StateFailed}},
		{"an attempt number below 0", deliver.Settlement{Attempt: &deliver.Attempt{N: -1}, State: deliver.StateFailed}},
		{"StatePending after an attempt", deliver.Settlement{Attempt: &deliver.Attempt{N: 1}, State: deliver.StatePending}},
		{"no state after an attempt", deliver.Settlement{Attempt: &deliver.Attempt{N: 1}}},
		{"an unknown state", deliver.Settlement{Attempt: &deliver.Attempt{N: 1}, State: "lost"}},
	} {
		cases = append(cases, storeCase{name: "Settle refuses " + row.name + ", and all with it", run: func(t *storeTest) {
			ds := withDue(t, 0, 0)
			bad := row.bad
			bad.DeliveryID = ds[1].ID
			err := t.store.Ports().Outbox.Settle(t.Context(), attempted(ds[0].ID, 1, deliver.StateDelivered, t.start), bad)
			var field *deliver.FieldError
			if !errors.As(err, &field) {
				t.Errorf("Settle has to refuse %s with a *deliver.FieldError (the error is %v)", row.name, err)
			}
			expect(t, len(t.entry("acme", ds[0].ID).Log), 0, "Settle recorded an attempt although another settlement of the call was refused: all or none")
			expect(t, len(t.claim(t.start, 10)), 2, "Settle ended a delivery although another settlement of the call was refused: all or none")
		}})
	}
	return cases
}
