package streamwatch

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/streamwatch/streamwatch/deliver"
)

// ErrNotStarted is returned by Ready before Start has returned.
var ErrNotStarted = errors.New("streamwatch: engine is not started")

// ErrNoContact is returned by Ready if the node has not reached the store for a long time. Other
// nodes may have taken over its work.
var ErrNoContact = errors.New("streamwatch: the node has no contact with its fleet")

// Ready returns nil while the engine works, from the return of Start until Shutdown begins.
// Otherwise it returns ErrNotStarted, ErrNotRunning, ErrNoContact, or an error that wraps
// deliver.ErrSealed. The last one names endpoints with secrets that Config.Sealer cannot decrypt:
// their deliveries wait for the key. Ready is meant for a readiness probe. It does not call the
// Store, and does not block.
func (e *Engine) Ready() error {
	switch e.life.current() {
	case fresh:
		return ErrNotStarted
	case ended:
		return ErrNotRunning
	}
	if e.fleet != nil && !e.fleet.node.State().Trusted {
		return ErrNoContact
	}
	if err := e.sealed.Load(); err != nil {
		return *err
	}
	return nil
}

// maxNamed is how many endpoints an error names at most.
const maxNamed = 10

// checkSeals records for Ready which endpoints cannot be decrypted, and logs changes.
func checkSeals(ctx context.Context, e *Engine) error {
	list, err := e.endpoints.Sealed(ctx)
	if err != nil {
		return fmt.Errorf("streamwatch: read endpoints: %w", err)
	}
	list = slices.DeleteFunc(list, ofMark) // such an endpoint never has a secret
	before := e.sealed.Load()
	if len(list) == 0 {
		e.sealed.Store(nil)
		if before != nil {
			e.cfg.Logger.Info("all endpoints can be decrypted")
		}
		return nil
	}
	var names []string
	for _, ep := range list[:min(len(list), maxNamed)] {
		names = append(names, ep.ID)
	}
	if len(list) > maxNamed {
		names = append(names, "…")
	}
	err = fmt.Errorf("streamwatch: nothing is sent to %d endpoints (%s): start with the key that encrypted their secrets: %w",
		len(list), strings.Join(names, ", "), deliver.ErrSealed)
	e.sealed.Store(&err)
	if before == nil || (*before).Error() != err.Error() {
		e.cfg.Logger.Error("endpoints cannot be decrypted: their deliveries wait for the key", "endpoints", len(list), "error", err)
	}
	return nil
}
