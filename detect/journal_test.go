package detect_test

import (
	"errors"
	"testing"

	"github.com/streamwatch/streamwatch/billing"
	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/detect"
)

func TestBatchValidate(t *testing.T) {
	for _, row := range []struct {
		name  string
		spoil func(*detect.Batch)
		field string // of the *FieldError that is wanted, "" for none
	}{
		{"a whole batch", func(*detect.Batch) {}, ""},
		{"an empty batch", func(b *detect.Batch) { *b = detect.Batch{} }, ""},
		{"an event without ID", func(b *detect.Batch) { b.Events[1].ID = "" }, "Event.ID"},
		{"an event without Source.ID", func(b *detect.Batch) { b.Events[1].Source.ID = "" }, "Event.Source.ID"},
		{"an event without Body", func(b *detect.Batch) { b.Events[1].Body = nil }, "Event.Body"},
		{"a charge without ID", func(b *detect.Batch) { b.Charges[1].ID = "" }, "Entry.ID"},
		{"a cursor without Target", func(b *detect.Batch) { b.Cursor.Target = "" }, "Cursor.Target"},
	} {
		t.Run(row.name, func(t *testing.T) {
			ev := deliver.Event{ID: "evt_1", Source: deliver.Source{ID: "mon_1"}, Body: []byte("{}")}
			b := &detect.Batch{
				Cursor:  &detect.Cursor{Target: "nasa"},
				Events:  []deliver.Event{ev, ev},
				Charges: []billing.Entry{{ID: "c1"}, {ID: "c2"}},
			}
			row.spoil(b)
			err := b.Validate()
			if row.field == "" {
				if err != nil {
					t.Errorf("Validate = %v, want nil", err)
				}
				return
			}
			var refused *detect.BatchError
			var field *deliver.FieldError
			if !errors.As(err, &refused) || refused.Batch != b || !errors.As(err, &field) || field.Wire != row.field {
				t.Errorf("Validate = %v, want a BatchError of the batch and a FieldError of %s", err, row.field)
			}
		})
	}
}
