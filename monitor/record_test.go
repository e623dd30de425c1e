package monitor_test

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/monitor"
	"github.com/streamwatch/streamwatch/record"
)

// Every field of a monitor comes back from its record; the StatusReason of an active one from the note.
func TestRecord(t *testing.T) {
	at := time.Date(2026, 3, 1, 12, 0, 0, 123456789, time.UTC)
	m := monitor.Monitor{ID: "mon_a", Owner: "acme", Name: "space", Accounts: []monitor.Account{{Username: "NASA", Since: at}, {Username: "esa", Since: at.Add(time.Hour)}},
		FilterTypes: []monitor.FilterType{monitor.Reply}, PollInterval: 1500 * time.Millisecond, Weight: 2.5,
		WebhookURL: "https://h.example.com/", WebhookID: "ep_a", WebhookSecretSet: true, Status: monitor.Paused, StatusReason: monitor.ReasonCredits,
		CreatedAt: at.Add(1), UpdatedAt: at.Add(2), ResumedAt: at.Add(3), Version: 7}
	for _, f := range reflect.VisibleFields(reflect.TypeOf(m)) {
		if reflect.ValueOf(m).FieldByIndex(f.Index).IsZero() {
			t.Errorf("the test sets no %s", f.Name)
		}
	}
	active := m
	active.Status, active.StatusReason = monitor.Active, "upstream_error: @esa: protected"
	none := monitor.Monitor{ID: "mon_b", Status: monitor.Active, Accounts: []monitor.Account{{Username: "esa"}}}
	for _, m := range []monitor.Monitor{m, active, none} {
		r, err := m.Record()
		if err != nil {
			t.Fatal(err)
		}
		if r.Key != (record.Key{Kind: record.Monitor, ID: m.ID}) || r.Owner != m.Owner || r.Name != m.Name || r.Status != string(m.Status) ||
			r.Size != int64(len(m.Accounts)) || r.Version != m.Version || !json.Valid(r.Data) || r.Note != "" {
			t.Errorf("%s is stored as %+v", m.ID, r)
		}
		if m.Status == monitor.Active {
			r.Note = m.StatusReason
		} else {
			r.Note = "upstream_error: of the time before"
		}
		if got, err := monitor.FromRecord(r); err != nil || !reflect.DeepEqual(got, m) {
			t.Errorf("read   %+v, %v\nstored %+v", got, err, m)
		}
	}
	if _, err := monitor.FromRecord(record.Record{Data: []byte("{")}); err == nil {
		t.Error("a record that is no JSON is read")
	}
}
