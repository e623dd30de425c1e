package storetest

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/fleet"
	"github.com/streamwatch/streamwatch/storage"
)

type brokenAnswers struct {
	fleet.Answers
	b *brokenFleet
}

func (a brokenAnswers) Begin(ctx context.Context, q fleet.Request) (*fleet.Answer, error) {
	if f := a.b.begin; f != nil {
		return f(ctx, a.Answers, q)
	}
	return a.Answers.Begin(ctx, q)
}

func (a brokenAnswers) Finish(ctx context.Context, q fleet.Request, text []byte) error {
	if f := a.b.finish; f != nil {
		return f(ctx, a.Answers, q, text)
	}
	return a.Answers.Finish(ctx, q, text)
}

// begins breaks Begin.
func begins(f func(context.Context, fleet.Answers, fleet.Request) (*fleet.Answer, error)) func(storage.Store) storage.Store {
	return func(s storage.Store) storage.Store {
		return breakFleet(s, func(b *brokenFleet, _ fleet.Members) { b.begin = f })
	}
}

// finishes breaks Finish.
func finishes(f func(context.Context, fleet.Answers, fleet.Request, []byte) error) func(storage.Store) storage.Store {
	return func(s storage.Store) storage.Store {
		return breakFleet(s, func(b *brokenFleet, _ fleet.Members) { b.finish = f })
	}
}

var plantedAnswerFaults = []plantedFault{
	{"a request under way is anybody's", begins(func(ctx context.Context, a fleet.Answers, q fleet.Request) (*fleet.Answer, error) {
		kept, err := a.Begin(ctx, q)
		if errors.Is(err, fleet.ErrUnderWay) {
			err = nil
		}
		return kept, err
	}), "answers/a request is carried out once, and its answer is everybody's", "Begin left a request to another one while it is under way"},
	{"another request gets the answer", begins(func(ctx context.Context, a fleet.Answers, q fleet.Request) (*fleet.Answer, error) {
		q.Asked = "anything"
		return a.Begin(ctx, q)
	}), "answers/an id is that of one request", "took another request for the one"},
	{"a key of a node that died is locked for ever", begins(func(ctx context.Context, a fleet.Answers, q fleet.Request) (*fleet.Answer, error) {
		q.Lease = 1000 * time.Hour
		return a.Begin(ctx, q)
	}), "answers/after its lease a request is another one's", "fleet: the id is that of another request"},
	{"who begins again is refused", begins(func(ctx context.Context, a fleet.Answers, q fleet.Request) (*fleet.Answer, error) {
		q.By += time.Now().String()
		return a.Begin(ctx, q)
	}), "answers/Begin and Finish again change nothing", "fleet: the request is under way"},
	{"anybody finishes a request", finishes(func(ctx context.Context, a fleet.Answers, q fleet.Request, text []byte) error {
		for _, by := range []string{"a", "b"} {
			q.By = by
			if err := a.Finish(ctx, q, text); err == nil {
				return nil
			}
		}
		return fleet.ErrNotBegun
	}), "answers/only who has begun a request finishes it", "of who has not begun the request"},
	{"a request that was given up stays", finishes(func(ctx context.Context, a fleet.Answers, q fleet.Request, text []byte) error {
		if len(text) == 0 {
			return nil
		}
		return a.Finish(ctx, q, text)
	}), "answers/a request that is given up is free", "id is that of another request"},
}

func TestPlantedAnswerFaults(t *testing.T) { findPlanted(t, plantedAnswerFaults) }
