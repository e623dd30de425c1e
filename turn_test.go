package streamwatch_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch"
	"github.com/streamwatch/streamwatch/enginetest"
	"github.com/streamwatch/streamwatch/fleet"
	"github.com/streamwatch/streamwatch/storage/memory"
)

// unsure is a store whose Begin of a turn is made, and then answers with an error, as after
// a timeout, while err is set.
type unsure struct {
	*memory.Store
	err error
}

func (u *unsure) Answers() fleet.Answers { return unsureAnswers{u.Store.Answers(), u} }

type unsureAnswers struct {
	fleet.Answers
	u *unsure
}

func (a unsureAnswers) Begin(ctx context.Context, q fleet.Request) (*fleet.Answer, error) {
	got, err := a.Answers.Begin(ctx, q)
	if err == nil && strings.HasPrefix(q.ID, "turn of ") {
		err = a.u.err
	}
	return got, err
}

// A turn whose beginning has an unknown outcome stands in nobody's way.
func TestTurnOfUnknownOutcome(t *testing.T) {
	for quota, create := range creations {
		t.Run(quota, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				q := quotaOf(quota)
				store := &unsure{Store: memory.New(memory.Options{}), err: errors.New("i/o timeout")}
				e := newEngine(t, streamwatch.Config{Fetcher: enginetest.NewPlatform(enginetest.PlatformConfig{}), Store: store, Quotas: q,
					Fleet: &streamwatch.FleetConfig{Name: "one"}})
				if err := create(t.Context(), e, "ann", "a"); !errors.Is(err, store.err) {
					t.Errorf("%v, want the store's error", err)
				}
				store.err = nil
				began := time.Now()
				if err := create(t.Context(), e, "ann", "a"); err != nil || time.Since(began) > 0 {
					t.Errorf("the next one: %v after %s", err, time.Since(began))
				}
			})
		})
	}
}
