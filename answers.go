package streamwatch

import (
	"context"

	"github.com/streamwatch/streamwatch/fleet"
	"github.com/streamwatch/streamwatch/storage"
	"github.com/streamwatch/streamwatch/storage/memory"
)

// Answers returns the port that keeps answers to requests, for clients that repeat a request. If
// the Store is a storage.Keyed, the Store keeps them: they survive the process, and all nodes of a
// fleet see them. Otherwise this process's memory keeps them. Answers are stored unencrypted: a
// caller must encrypt those that contain secrets, as package enginehttp does.
func (e *Engine) Answers() fleet.Answers { return e.answers }

func newAnswers(e *Engine) fleet.Answers {
	if store, ok := e.store.(storage.Keyed); ok {
		return store.Answers()
	}
	own := memory.New(memory.Options{Now: e.cfg.Now})
	return ownAnswers{own.Answers(), own}
}

// ownAnswers keeps answers in this process's memory, for a Store that is not a storage.Keyed.
type ownAnswers struct {
	fleet.Answers
	store *memory.Store
}

// eraseAnswers removes an owner's answers from ownAnswers and returns how many it removed. If the
// Store keeps the answers, eraseAnswers does nothing: Erase of the Store removes them.
func eraseAnswers(ctx context.Context, a fleet.Answers, owner string) (int, error) {
	own, ok := a.(ownAnswers)
	if !ok {
		return 0, nil
	}
	erased, err := own.store.Erase(ctx, owner)
	return erased.Answers, err
}
