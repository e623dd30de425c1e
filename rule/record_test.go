package rule_test

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/record"
	"github.com/streamwatch/streamwatch/rule"
)

// Every field of a rule comes back from its record; the StatusReason of an active one from the note.
func TestRecord(t *testing.T) {
	at := time.Date(2026, 3, 1, 12, 0, 0, 123456789, time.UTC)
	r := rule.Rule{ID: "rul_a", Owner: "acme", Tag: "space", Query: "moon", Platform: "x", Interval: 1500 * time.Millisecond, Schedule: "@hourly", MaxResults: 30, Since: at,
		WebhookURL: "https://h.example.com/", WebhookID: "ep_a", WebhookSecretSet: true, Status: rule.Paused, StatusReason: rule.ReasonCredits,
		CreatedAt: at.Add(1), UpdatedAt: at.Add(2), ResumedAt: at.Add(3), Version: 7}
	for _, f := range reflect.VisibleFields(reflect.TypeOf(r)) {
		if reflect.ValueOf(r).FieldByIndex(f.Index).IsZero() {
			t.Errorf("the test sets no %s", f.Name)
		}
	}
	active := r
	active.Status, active.StatusReason = rule.Active, "upstream_error: protected"
	for _, r := range []rule.Rule{r, active, {ID: "rul_b", Status: rule.Active}} {
		stored, err := r.Record()
		if err != nil {
			t.Fatal(err)
		}
		if stored.Key != (record.Key{Kind: record.Rule, ID: r.ID}) || stored.Owner != r.Owner || stored.Name != r.Tag || stored.Status != string(r.Status) ||
			stored.Size != 0 || stored.Version != r.Version || !json.Valid(stored.Data) || stored.Note != "" {
			t.Errorf("%s is stored as %+v", r.ID, stored)
		}
		if r.Status == rule.Active {
			stored.Note = r.StatusReason
		} else {
			stored.Note = "upstream_error: of the time before"
		}
		if got, err := rule.FromRecord(stored); err != nil || got != r {
			t.Errorf("read   %+v, %v\nstored %+v", got, err, r)
		}
	}
	if _, err := rule.FromRecord(record.Record{Data: []byte("{")}); err == nil {
		t.Error("a record that is no JSON is read")
	}
}
