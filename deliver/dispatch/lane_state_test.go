package dispatch

import (
	"fmt"
	"strings"
	"testing"
)

var (
	recordNames = []string{"unread", "reading", "outdated", "active", "refusing", "deleted"}
	gateNames   = []string{"open", "waiting", "parked"}
	paceNames   = []string{"untried", "untried-hung", "steady", "cautious", "slow", "slow-cautious", "hung"}
	eventNames  = []string{"read begun", "read failed", "read active", "read refusing", "read deleted", "read paused", "changed",
		"wait", "park", "elapsed", "accepted", "accepted slowly", "failed", "failed slowly", "held off", "held off slowly", "timed out", "reset"}
)

// Every pair of a state and an event. A row is an event with the state after it for each
// state before it, in the order of the names; "." stands for no change.
func TestLaneState(t *testing.T) {
	const records = `
		read begun:      reading  reading  .        reading  reading  reading
		read failed:     .        unread   unread   .        .        .
		read active:     .        active   unread   .        .        .
		read refusing:   .        refusing unread   .        .        .
		read deleted:    .        deleted  unread   .        .        .
		read paused:     .        unread   unread   .        .        .
		changed:         .        outdated .        unread   unread   unread`
	const gates = `
		wait:    waiting . .
		park:    parked parked .
		elapsed: . open open
		reset:   . open open`
	const paces = `
		accepted:        steady        steady        .             steady        steady        steady        steady
		accepted slowly: slow          slow          slow          slow          .             slow          slow
		failed:          steady        cautious      .             .             steady        cautious      cautious
		failed slowly:   slow          slow-cautious slow          slow-cautious .             .             slow-cautious
		held off:        cautious      cautious      cautious      .             cautious      cautious      cautious
		held off slowly: slow-cautious slow-cautious slow-cautious slow-cautious slow-cautious .             slow-cautious
		timed out:       untried-hung  .             hung          hung          hung          hung          .
		reset:           .             untried       .             steady        steady        steady        steady`
	want := map[string][]string{}
	for part, table := range map[string]string{"record": records, "gate": gates, "pace": paces} {
		for row := range strings.SplitSeq(strings.TrimSpace(table), "\n") {
			event, states, _ := strings.Cut(strings.TrimSpace(row), ":")
			want[part+" "+event] = strings.Fields(states)
		}
	}
	after := func(part, event string, names []string, before int) string {
		if row := want[part+" "+event]; row != nil && row[before] != "." {
			return row[before]
		}
		return names[before]
	}
	pairs := 0
	for r, record := range recordNames {
		for g, gate := range gateNames {
			for p, pace := range paceNames {
				for e, what := range eventNames {
					s := laneState{recordState(r), gateState(g), paceState(p)}.after(event(e))
					got := fmt.Sprint(recordNames[s.Record], " ", gateNames[s.Gate], " ", paceNames[s.Pace])
					want := fmt.Sprint(after("record", what, recordNames, r), " ", after("gate", what, gateNames, g), " ", after("pace", what, paceNames, p))
					if got != want {
						t.Errorf("%s %s %s, %s: now %s, want %s", record, gate, pace, what, got, want)
					}
					pairs++
				}
			}
		}
	}
	if all := int(recordStates) * int(gateStates) * int(paceStates) * int(events); pairs != all {
		t.Errorf("%d pairs, want all %d", pairs, all)
	}
}

// What the pace says of a receiver is what its attempts were: the last one timed out or
// took long, one has ended otherwise than by the time, and none has succeeded since the
// lane was last told to be cautious. All sequences of five attempts.
func TestPaceIsWhatTheAttemptsWere(t *testing.T) {
	type attempt struct{ ok, slow, timedOut, wait bool }
	attempts := []attempt{{ok: true}, {ok: true, slow: true}, {}, {slow: true}, {wait: true}, {slow: true, wait: true},
		{slow: true, timedOut: true}, {slow: true, timedOut: true, wait: true}}
	type facts struct{ answered, hung, slow, cautious bool }
	var try func(s laneState, is facts, left int)
	try = func(s laneState, is facts, left int) {
		if got := (facts{s.Pace.answered(), s.Pace.hung(), s.Pace.slow(), s.Pace.cautious()}); got != is {
			t.Fatalf("%s says %+v, want %+v", paceNames[s.Pace], got, is)
		}
		if left == 0 {
			return
		}
		try(s.after(eventReset), facts{answered: is.answered}, left-1)
		for _, a := range attempts {
			next := facts{is.answered || !a.timedOut, a.timedOut, a.slow, a.timedOut || a.wait || is.cautious && !a.ok}
			try(s.after(attemptEvent(a.ok, a.slow, a.timedOut, a.wait)), next, left-1)
		}
	}
	try(laneState{}, facts{}, 5)
}
