package streamwatch

import (
	"context"
	"time"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/detect"
	"github.com/streamwatch/streamwatch/fleet"
	"github.com/streamwatch/streamwatch/monitor"
	"github.com/streamwatch/streamwatch/secret"
)

// tracker implements monitor.Tracker with the detectors.
type tracker struct{ e *Engine }

func (t tracker) Track(ctx context.Context, m monitor.Monitor) error {
	sub := detect.ForMonitor(m)
	sub.Spread = t.e.life.current() == fresh
	t.e.fleet.track(m.ID, record{kind: fleet.Monitor})
	return notRunning(t.e.platforms.Set(ctx, sub))
}

func (t tracker) Untrack(ctx context.Context, id string) error {
	err := t.e.platforms.Remove(ctx, id)
	t.e.fleet.untrack(id, err)
	return notRunning(err)
}

func (t tracker) ReadUntil(ctx context.Context, m monitor.Monitor) (map[string]time.Time, error) {
	var names []string
	for _, a := range m.Accounts {
		names = append(names, a.Username)
	}
	return t.e.platforms.ReadUntil(ctx, m.ID, names...)
}

// webhooks implements monitor.Webhooks with the endpoint manager.
type webhooks struct{ bound }

func (w webhooks) Change(ctx context.Context, m monitor.Monitor, from, to string, key secret.Value) (secret.Value, error) {
	return w.change(ctx, source(m), from, to, key)
}

func (w webhooks) Unbind(ctx context.Context, m monitor.Monitor) error {
	return w.unbind(ctx, source(m))
}

func source(m monitor.Monitor) deliver.Source { return detect.ForMonitor(m).Source }
