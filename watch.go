package streamwatch

import (
	"slices"
	"sync"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/detect"
)

// Watch calls fn with the new events of every commit of this engine, for all owners, until stop is
// called. Events of one source come in the order of their commits. In a fleet, fn does not get
// events that other nodes find. An event that fn misses is not repeated: a receiver that must not
// miss any needs Config.OnEvent. Several goroutines may call fn at the same time. Commits wait for
// fn: it must not block, change the events or keep their bodies. stop does not wait for calls under
// way.
func (e *Engine) Watch(fn func(events []deliver.Event)) (stop func()) {
	return e.writes.watchers.add(func(events []deliver.Event) {
		hook(e.cfg.Logger, "Watch", func() { fn(events) })
	})
}

// watchers holds the functions given to Watch.
type watchers struct {
	mu   sync.RWMutex
	list []*func([]deliver.Event) // replaced by a changed copy, never changed in place
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

// tell calls the functions with the events that were new to the journal.
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
