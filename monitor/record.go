package monitor

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/streamwatch/streamwatch/internal/control"
	"github.com/streamwatch/streamwatch/record"
)

// data has the fields of a monitor that are not of record.Record.
type data struct {
	Accounts     []account
	FilterTypes  []FilterType  `json:",omitempty"`
	PollInterval time.Duration `json:",omitzero"`
	Weight       float64       `json:",omitzero"`
	WebhookURL   string        `json:",omitzero"`
	WebhookID    string        `json:",omitzero"`
	PausedFor    string        `json:",omitzero"` // the StatusReason of a paused monitor
	ResumedAt    time.Time     `json:",omitzero"`
}

// account is an Account. Since is nil if it is the CreatedAt of the monitor, as it mostly is.
type account struct {
	Username string
	Since    *time.Time `json:",omitempty"`
}

var decoder control.Decoder[data]

// Record returns the form in which a monitor is stored, without its price. The StatusReason of an
// active monitor is not in it: that is the record's Note.
func (m Monitor) Record() (record.Record, error) {
	accounts := make([]account, len(m.Accounts))
	for i, a := range m.Accounts {
		accounts[i].Username = a.Username
		if !a.Since.Equal(m.CreatedAt) {
			accounts[i].Since = &a.Since
		}
	}
	d := data{accounts, m.FilterTypes, m.PollInterval, m.Weight, m.WebhookURL, m.WebhookID, "", m.ResumedAt}
	if m.Status == Paused {
		d.PausedFor = m.StatusReason
	}
	b, err := json.Marshal(d)
	if err != nil {
		return record.Record{}, fmt.Errorf("monitor: cannot encode %s: %w", m.ID, err)
	}
	return record.Record{Key: record.Key{Kind: record.Monitor, ID: m.ID}, Owner: m.Owner, Name: m.Name, Status: string(m.Status),
		Size: int64(len(m.Accounts)), Version: m.Version, CreatedAt: m.CreatedAt, UpdatedAt: m.UpdatedAt, Data: b}, nil
}

// FromRecord returns a stored monitor.
func FromRecord(r record.Record) (Monitor, error) {
	d, err := decoder.Decode(r.Data)
	if err != nil {
		return Monitor{}, fmt.Errorf("monitor: cannot decode %s: %w", r.ID, err)
	}
	accounts := make([]Account, len(d.Accounts))
	for i, a := range d.Accounts {
		accounts[i] = Account{a.Username, r.CreatedAt}
		if a.Since != nil {
			accounts[i].Since = *a.Since
		}
	}
	m := Monitor{ID: r.ID, Owner: r.Owner, Name: r.Name, Accounts: accounts, FilterTypes: slices.Clone(d.FilterTypes), PollInterval: d.PollInterval, Weight: d.Weight,
		WebhookURL: d.WebhookURL, WebhookID: d.WebhookID, WebhookSecretSet: d.WebhookURL != "", Status: Status(r.Status), StatusReason: d.PausedFor,
		CreatedAt: r.CreatedAt, UpdatedAt: r.UpdatedAt, ResumedAt: d.ResumedAt, Version: r.Version}
	if m.Status == Active {
		m.StatusReason = r.Note
	}
	return m, nil
}
