package rule

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/streamwatch/streamwatch/internal/control"
	"github.com/streamwatch/streamwatch/record"
)

// data has the fields of a rule that are not of record.Record.
type data struct {
	Query      string
	Platform   string        `json:",omitzero"`
	Interval   time.Duration `json:",omitzero"`
	Schedule   string        `json:",omitzero"`
	MaxResults int
	Since      time.Time
	WebhookURL string    `json:",omitzero"`
	WebhookID  string    `json:",omitzero"`
	PausedFor  string    `json:",omitzero"` // the StatusReason of a paused rule
	ResumedAt  time.Time `json:",omitzero"`
}

var decoder control.Decoder[data]

// Record returns the form in which a rule is stored, without its price. The StatusReason of an
// active rule is not in it: that is the record's Note.
func (r Rule) Record() (record.Record, error) {
	d := data{r.Query, r.Platform, r.Interval, r.Schedule, r.MaxResults, r.Since, r.WebhookURL, r.WebhookID, "", r.ResumedAt}
	if r.Status == Paused {
		d.PausedFor = r.StatusReason
	}
	b, err := json.Marshal(d)
	if err != nil {
		return record.Record{}, fmt.Errorf("rule: cannot encode %s: %w", r.ID, err)
	}
	return record.Record{Key: record.Key{Kind: record.Rule, ID: r.ID}, Owner: r.Owner, Name: r.Tag, Status: string(r.Status),
		Version: r.Version, CreatedAt: r.CreatedAt, UpdatedAt: r.UpdatedAt, Data: b}, nil
}

// FromRecord returns a stored rule.
func FromRecord(stored record.Record) (Rule, error) {
	d, err := decoder.Decode(stored.Data)
	if err != nil {
		return Rule{}, fmt.Errorf("rule: cannot decode %s: %w", stored.ID, err)
	}
	r := Rule{ID: stored.ID, Owner: stored.Owner, Tag: stored.Name, Query: d.Query, Platform: d.Platform, Interval: d.Interval, Schedule: d.Schedule,
		MaxResults: d.MaxResults, Since: d.Since, WebhookURL: d.WebhookURL, WebhookID: d.WebhookID, WebhookSecretSet: d.WebhookURL != "",
		Status: Status(stored.Status), StatusReason: d.PausedFor, CreatedAt: stored.CreatedAt, UpdatedAt: stored.UpdatedAt,
		ResumedAt: d.ResumedAt, Version: stored.Version}
	if r.Status == Active {
		r.StatusReason = stored.Note
	}
	return r, nil
}
