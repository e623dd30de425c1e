package deliver

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/streamwatch/streamwatch/record"
)

// endpointData has the fields of an Endpoint that are not of record.Record. Secrets are plain
// strings here: in JSON a Secret is ***.
type endpointData struct {
	SourceName   string            `json:",omitzero"`
	Secret       string            `json:",omitzero"`
	OldSecrets   []oldSecretRecord `json:",omitempty"`
	Headers      []headerRecord    `json:",omitempty"`
	Limits       Limits            `json:",omitzero"`
	From         time.Time         `json:",omitzero"`
	StatusReason string            `json:",omitzero"`
	StatusSince  time.Time         `json:",omitzero"`
	EnabledAt    time.Time         `json:",omitzero"`
	PausedSince  time.Time         `json:",omitzero"`
}

type oldSecretRecord struct {
	Secret string
	Until  time.Time
}

type headerRecord struct{ Name, Value string }

// Record returns the form in which an endpoint is stored, with its secrets. FailingSince is not in
// it: that is the record's Note, see FailingNote.
func (e Endpoint) Record() (record.Record, error) {
	d := endpointData{SourceName: e.Source.Name, Secret: string(e.Secret), Limits: e.Limits, From: e.From, StatusReason: e.StatusReason,
		StatusSince: e.StatusSince, EnabledAt: e.EnabledAt, PausedSince: e.PausedSince}
	for _, o := range e.OldSecrets {
		d.OldSecrets = append(d.OldSecrets, oldSecretRecord{string(o.Secret), o.Until})
	}
	for _, h := range e.Headers {
		d.Headers = append(d.Headers, headerRecord{h.Name, string(h.Value)})
	}
	b, err := json.Marshal(d)
	if err != nil {
		return record.Record{}, fmt.Errorf("deliver: cannot encode endpoint %s: %w", e.ID, err)
	}
	return record.Record{Key: record.Key{Kind: record.Endpoint, ID: e.ID}, Owner: e.Source.Owner,
		Parent: record.Key{Kind: record.Kind(e.Source.Kind), ID: e.Source.ID}, Name: e.URL, Status: string(e.Status),
		Version: e.Version, CreatedAt: e.CreatedAt, UpdatedAt: e.UpdatedAt, Data: b}, nil
}

// EndpointFromRecord returns a stored endpoint. With an error, it has what could be decoded.
func EndpointFromRecord(r record.Record) (Endpoint, error) {
	var d endpointData
	err := json.Unmarshal(r.Data, &d)
	e := Endpoint{ID: r.ID, Source: Source{Kind: SourceKind(r.Parent.Kind), ID: r.Parent.ID, Owner: r.Owner, Name: d.SourceName},
		URL: r.Name, Secret: Secret(d.Secret), Limits: d.Limits, From: d.From, Status: EndpointStatus(r.Status), StatusReason: d.StatusReason,
		StatusSince: d.StatusSince, EnabledAt: d.EnabledAt, PausedSince: d.PausedSince, CreatedAt: r.CreatedAt, UpdatedAt: r.UpdatedAt, Version: r.Version}
	if err == nil && r.Note != "" {
		e.FailingSince, err = time.Parse(time.RFC3339Nano, r.Note)
	}
	if err != nil {
		return e, fmt.Errorf("deliver: cannot decode endpoint %s: %w", r.ID, err)
	}
	for _, o := range d.OldSecrets {
		e.OldSecrets = append(e.OldSecrets, OldSecret{Secret(o.Secret), o.Until})
	}
	for _, h := range d.Headers {
		e.Headers = append(e.Headers, Header{h.Name, Secret(h.Value)})
	}
	return e, nil
}

// FailingNote returns the note that stores the FailingSince of this version of an endpoint.
func (e Endpoint) FailingNote() record.Note {
	n := record.Note{Ref: record.Ref{Key: record.Key{Kind: record.Endpoint, ID: e.ID}, Owner: e.Source.Owner, Version: e.Version}}
	if !e.FailingSince.IsZero() {
		n.Text = e.FailingSince.UTC().Format(time.RFC3339Nano)
	}
	return n
}
