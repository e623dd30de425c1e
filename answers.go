package streamwatch

import (
	"context"
	"fmt"
	"strings"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/deliver/endpoints"
	"github.com/streamwatch/streamwatch/fleet"
	"github.com/streamwatch/streamwatch/storage"
	"github.com/streamwatch/streamwatch/storage/memory"
)

// Answers keeps the answers to requests that clients may repeat: in the Store if that is a
// storage.Keyed, where they survive the process and all nodes of a fleet have them; in this
// process's memory otherwise. With Config.Sealer their texts are sealed.
func (e *Engine) Answers() fleet.Answers { return e.answers }

func newAnswers(e *Engine) fleet.Answers {
	var kept fleet.Answers
	if store, ok := e.store.(storage.Keyed); ok {
		kept = store.Answers()
	} else {
		own := memory.New(memory.Options{Now: e.cfg.Now})
		kept = ownAnswers{own.Answers(), own}
	}
	if e.cfg.Sealer != nil {
		return sealedAnswers{kept, e.cfg.Sealer}
	}
	return kept
}

// ownAnswers are kept in this process's memory, for a Store that is no storage.Keyed.
type ownAnswers struct {
	fleet.Answers
	store *memory.Store
}

// eraseAnswers removes an owner's answers from ownAnswers, and returns how many there were.
// The Store's Erase removes those in the Store.
func eraseAnswers(ctx context.Context, a fleet.Answers, owner string) (int, error) {
	if sealed, ok := a.(sealedAnswers); ok {
		a = sealed.Answers
	}
	own, ok := a.(ownAnswers)
	if !ok {
		return 0, nil
	}
	erased, err := own.store.Erase(ctx, owner)
	return erased.Answers, err
}

// sealedAnswers seals the texts of Answers, each for its request.
type sealedAnswers struct {
	fleet.Answers
	sealer endpoints.Sealer
}

func place(q fleet.Request) string { return "answer\x00" + q.Owner + "\x00" + q.ID }

// Begin opens the answer. An answer that was stored without a Sealer is returned as it is.
func (s sealedAnswers) Begin(ctx context.Context, q fleet.Request) (*fleet.Answer, error) {
	a, err := s.Answers.Begin(ctx, q)
	if err != nil || a == nil {
		return nil, err
	}
	if sealed, ok := strings.CutPrefix(string(a.Text), deliver.SealedPrefix); ok {
		if a.Text, err = s.sealer.Open(ctx, sealed, place(q)); err != nil {
			return nil, fmt.Errorf("streamwatch: open the answer to a request: %w", err)
		}
	}
	return a, nil
}

func (s sealedAnswers) Finish(ctx context.Context, q fleet.Request, text []byte) error {
	if len(text) > 0 {
		sealed, err := s.sealer.Seal(ctx, text, place(q))
		if err != nil {
			return fmt.Errorf("streamwatch: seal the answer to a request: %w", err)
		}
		text = []byte(deliver.SealedPrefix + sealed)
	}
	return s.Answers.Finish(ctx, q, text)
}
