package budget_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch/detect/internal/budget"
	"github.com/streamwatch/streamwatch/detect/internal/spend"
)

// records are a journal's, by name; a call of store has the budget's put there.
type records map[string]string

// next returns the budget of the next process of a node.
func (r records) next(node string) *kit {
	k := &kit{epoch: time.Now(), stop: make(chan struct{})}
	k.Budget = budget.New(budget.Config{Epoch: k.epoch, Clock: k.clock, Now: time.Now, Stop: k.stop, Stopped: errStopped, Ring: func() {},
		Logger: slog.New(slog.NewTextHandler(&k.log, nil)),
		Spend: spend.Config{Node: node,
			Load: func(_ context.Context, target string) (string, error) {
				if r[target] == "fails" {
					return "", errors.New("no journal")
				}
				return r[target], nil
			},
			Store: func() {
				if name, position, ok := k.Position(); ok {
					r[name] = position
					k.Stored(position)
				}
			}}})
	return k
}

// closed returns for how long each limit is closed, in whole minutes.
func (k *kit) closed() map[string]int {
	minutes := map[string]int{}
	for name, until := range k.Limits() {
		minutes[name] = int(time.Until(until) / time.Minute)
	}
	return minutes
}

// What a platform has asked to wait for holds for the next process, too.
func TestLimitsOutliveTheProcess(t *testing.T) {
	for name, row := range map[string]struct {
		records records
		node    string
		before  func(k *kit)
		want    map[string]int // minutes, a minute later
	}{
		"all calls":    {before: func(k *kit) { k.CloseFor(10*time.Minute, "slow down") }, want: map[string]int{"": 9}},
		"some of them": {before: func(k *kit) { k.Buckets.CloseFor("one", 10*time.Minute, "slow down") }, want: map[string]int{"one": 9}},
		"each as long as it was told": {before: func(k *kit) {
			k.CloseFor(2*time.Minute+time.Second, "slow down")
			k.Buckets.CloseFor("one", 10*time.Minute, "slow down")
			k.Buckets.CloseFor("two", 6*time.Minute, "slow down")
			k.Buckets.CloseFor("three", 30*time.Second, "slow down")
		}, want: map[string]int{"": 1, "one": 9, "two": 5}},
		"of the node of a fleet": {node: "a", before: func(k *kit) { k.CloseFor(10*time.Minute, "slow down") }, want: map[string]int{"": 9}},
		"of another node":        {node: "a", records: records{"limits": `{"":4102444800}`}, want: map[string]int{}},
		"what lasts longer than limits do": {records: records{"limits": fmt.Sprintf(`{"":%d,"one":%[1]d}`, time.Date(2040, 1, 1, 0, 0, 0, 0, time.UTC).Unix())},
			want: map[string]int{"": 15, "one": 15}},
		"a record of another version": {records: records{"limits": "none"}, want: map[string]int{}},
		"a journal that fails":        {records: records{"limits": "fails"}, want: map[string]int{}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				kept := records{}
				maps.Copy(kept, row.records)
				k := kept.next(row.node)
				k.Begin(t.Context())
				if row.before != nil {
					row.before(k)
				}
				pass(time.Minute)
				k = kept.next(row.node)
				k.Begin(t.Context())
				if got := k.closed(); !maps.Equal(got, row.want) {
					t.Errorf("closed for minutes: %v, want %v", got, row.want)
				}
				if _, _, ok := k.Position(); ok && row.records == nil && len(row.want) == 1 { // else some are over
					t.Error("what was read is to be stored again")
				}
				// What is met now does not take the place of what was met before.
				k.Buckets.CloseFor("later", 12*time.Minute, "slow down")
				next := kept.next(row.node)
				next.Begin(t.Context())
				want := maps.Clone(row.want)
				want["later"] = 12
				if got := next.closed(); !maps.Equal(got, want) {
					t.Errorf("closed for minutes after another start: %v, want %v", got, want)
				}
				pass(20 * time.Minute)
				if next.Begin(t.Context()); len(next.Limits()) > 0 {
					t.Errorf("still closed after it is over: %v", next.Limits())
				}
			})
		})
	}
}

// A wait of seconds is not worth a commit.
func TestShortLimitsAreNotStored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		kept := records{}
		k := kept.next("")
		k.CloseFor(3*time.Second, "slow down")
		k.Buckets.CloseFor("one", 5*time.Second, "slow down")
		if len(kept) > 0 {
			t.Errorf("stored: %v", kept)
		}
	})
}
