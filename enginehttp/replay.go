package enginehttp

import (
	"net/http"
	"time"

	"github.com/streamwatch/streamwatch/deliver"
)

// replayRecord is a replay and its progress.
type replayRecord struct {
	ID         string              `json:"id"`
	WebhookID  string              `json:"webhook_id"`
	Status     deliver.ReplayState `json:"status"`
	WaitsFor   *string             `json:"waits_for"`
	Since      *string             `json:"since"`
	Until      *string             `json:"until"`
	Position   uint64              `json:"position"` // number of event numbers looked at
	Total      uint64              `json:"total"`    // number of event numbers in the range
	Created    int                 `json:"created"`
	Redelivers int                 `json:"redelivers"`
	Left       int                 `json:"left"`
	Removed    uint64              `json:"removed"`
	CreatedAt  string              `json:"created_at"`
	UpdatedAt  string              `json:"updated_at"`
}

func newReplayRecord(r *deliver.Replay) replayRecord {
	return replayRecord{ID: r.ID, WebhookID: r.EndpointID, Status: r.State, WaitsFor: nullable(r.Waits), Since: boundText(r.Since), Until: boundText(r.Until),
		Position: r.Cursor - r.After, Total: r.Last - r.After, Created: r.Created, Redelivers: r.Reopened, Left: r.Left, Removed: r.Removed,
		CreatedAt: timeText(r.CreatedAt), UpdatedAt: timeText(r.UpdatedAt)}
}

// boundText formats a time. For the zero time it returns nil, which encodes as null.
func boundText(t time.Time) *string {
	if t.IsZero() {
		return nil
	}
	s := timeText(t)
	return &s
}

func (h webhookAPI) replayWebhook(c *call) (reply, error) {
	since, until := c.form.moment("since"), c.form.optionalMoment("until")
	if c.form.err != nil {
		return reply{}, c.form.err
	}
	r, err := h.engine.Endpoints().Replay(c.Context(), c.who.Owner, c.PathValue("webhook_id"), since, until)
	if err != nil {
		return reply{}, err
	}
	return reply{status: http.StatusAccepted, value: newReplayRecord(&r)}, nil
}

func (h webhookAPI) getReplay(c *call) (reply, error) {
	r, err := h.engine.Endpoints().Replaying(c.Context(), c.who.Owner, c.PathValue("webhook_id"))
	if err != nil {
		return reply{}, err
	}
	return reply{value: newReplayRecord(&r)}, nil
}
