package streamwatch

import (
	"slices"
	"sync"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/detect"
)

// Watch has fn called with the new events of every commit of this engine from now on,
// whoever their owners are, until stop is called. Events of one source come in the order
// of their commits; in a fleet those that other nodes find do not come. Events are not kept
// for fn and not repeated: use Config.OnEvent for a receiver that must miss none. The
// commit waits for fn, which several goroutines call at once, and which must not block,
// change the events or keep their bodies. stop does not wait for calls under way.
func (e *Engine) Watch(fn func(events []deliver.Event)) (stop func()) {
	return e.writes.watchers.add(func(events []deliver.Event) {
		hook(e.cfg.Logger, "Watch", func() { fn(events) })
	})
}

// watchers are told of commits.
type watchers struct {
	mu   sync.RWMutex
	list []*func([]deliver.Event) // replaced, not changed
}

func (w *watchers) add(fn func([]deliver.Event)) (stop func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.list = append(slices.Clip(w.list), &fn)
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.list = slices.DeleteFunc(slices.Clone(w.list), func(f *func([]deliver.Event)) bool { return f == &fn })
	}
}

// tell hands on what was new to the journal.
func (w *watchers) tell(batches []*detect.Batch) {
	w.mu.RLock()
	list := w.list
	w.mu.RUnlock()
	if len(list) == 0 {
		return
	}
	var events []deliver.Event
	for _, b := range batches {
		for i := range b.Events {
			if b.Events[i].Seq > 0 {
				events = append(events, b.Events[i])
			}
		}
	}
	if len(events) == 0 {
		return
	}
	for _, fn := range list {
		(*fn)(events)
	}
}
