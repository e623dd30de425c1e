package postgres

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch/fleet"
)

// sentAt is what a sender has sent, and when.
type sentAt struct {
	after    time.Duration
	payloads []string
}

// withSender runs a test in virtual time with a sender. fails tells whether the n-th call fails.
func withSender(t *testing.T, fails func(n int) bool, run func(q *sender), check func(sent []sentAt)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		var sent []sentAt
		q := startSender(func(_ context.Context, payloads []string) error {
			sent = append(sent, sentAt{time.Since(began), payloads})
			if fails != nil && fails(len(sent)) {
				return errors.New("no server")
			}
			return nil
		})
		run(q)
		q.stop()
		check(sent)
	})
}

func head(n int) fleet.Signal { return fleet.Signal{Kind: fleet.SignalHead, N: uint64(n)} }

// The first signal is sent at once, those that follow together.
func TestSignalsAreSentTogether(t *testing.T) {
	withSender(t, nil, func(q *sender) {
		for n := range 3000 { // within 300 ms
			q.add(head(n))
			q.add(fleet.Signal{Kind: fleet.SignalChanged})
			<-time.After(100 * time.Microsecond)
		}
		<-time.After(time.Second)
		q.add(head(1))
	}, func(sent []sentAt) {
		var ms []int64
		heads := 0
		for _, s := range sent {
			ms = append(ms, s.after.Milliseconds())
			changed := 0
			for _, p := range s.payloads {
				var sig fleet.Signal
				must(t, json.Unmarshal([]byte(p), &sig))
				if sig.Kind == fleet.SignalChanged {
					changed++
				} else {
					heads++
				}
			}
			if changed > 1 {
				t.Errorf("one call sends a signal %d times", changed)
			}
		}
		want(t, "milliseconds of the calls", ms, []int64{0, 5, 15, 35, 75, 125, 175, 225, 275, 325, 1300})
		if heads != 3001 {
			t.Errorf("%d signals were sent, want each of 3,001", heads)
		}
	})
}

// Signals that cannot be sent, or are too many, become one to look.
func TestSignalsAreNeverTooMany(t *testing.T) {
	look := []string{lookDoc}
	withSender(t, func(n int) bool { return n < 3 }, func(q *sender) {
		q.add(head(1))
		<-time.After(time.Minute)
	}, func(sent []sentAt) {
		want(t, "calls", fmt.Sprint(sent), fmt.Sprint([]sentAt{{0, []string{`{"kind":"head","n":1}`}}, {time.Second, look}, {2 * time.Second, look}}))
	})
	withSender(t, nil, func(q *sender) {
		q.add(head(0))
		synctest.Wait()
		for n := range waitingSignals + 1 {
			q.add(head(n))
		}
	}, func(sent []sentAt) { want(t, "the second call", sent[1].payloads, look) })
	for _, row := range []struct {
		key  int
		want string
	}{{7900, strings.Repeat("k", 7900)}, {8000, ""}} {
		withSender(t, nil, func(q *sender) { q.add(fleet.Signal{Kind: fleet.SignalHead, Key: strings.Repeat("k", row.key)}) }, func(sent []sentAt) {
			var sig fleet.Signal
			must(t, json.Unmarshal([]byte(sent[0].payloads[0]), &sig))
			want(t, fmt.Sprintf("a key of %d bytes", row.key), sig.Key, row.want)
			want(t, "signals", len(sent[0].payloads), 1)
		})
	}
}
