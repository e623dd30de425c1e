package deliver_test

import (
	"errors"
	"testing"

	"github.com/streamwatch/streamwatch/deliver"
)

func TestSettlementValidate(t *testing.T) {
	for _, row := range []struct {
		name  string
		st    deliver.Settlement
		field string // of the *FieldError that is wanted, "" for none
	}{
		{"a claim given back", deliver.Settlement{}, ""},
		{"a claim given back, with a state", deliver.Settlement{State: "lost"}, ""},
		{"a deleted endpoint", deliver.Settlement{EndpointDeleted: true}, ""},
		{"delivered", deliver.Settlement{Attempt: &deliver.Attempt{N: 1}, State: deliver.StateDelivered}, ""},
		{"failed", deliver.Settlement{Attempt: &deliver.Attempt{N: 9}, State: deliver.StateFailed}, ""},
		{"to be retried", deliver.Settlement{Attempt: &deliver.Attempt{N: 2}, State: deliver.StateRetrying}, ""},
		{"attempt 0", deliver.Settlement{Attempt: &deliver.Attempt{}, State: deliver.StateFailed}, "Settlement.Attempt.N"},
		{"attempt -1", deliver.Settlement{Attempt: &deliver.Attempt{N: -1}, State: deliver.StateFailed}, "Settlement.Attempt.N"},
		{"pending after an attempt", deliver.Settlement{Attempt: &deliver.Attempt{N: 1}, State: deliver.StatePending}, "Settlement.State"},
		{"no state", deliver.Settlement{Attempt: &deliver.Attempt{N: 1}}, "Settlement.State"},
		{"an unknown state", deliver.Settlement{Attempt: &deliver.Attempt{N: 1}, State: "lost"}, "Settlement.State"},
	} {
		t.Run(row.name, func(t *testing.T) {
			err := row.st.Validate()
			if row.field == "" {
				if err != nil {
					t.Errorf("Validate = %v, want nil", err)
				}
				return
			}
			var field *deliver.FieldError
			if !errors.As(err, &field) || field.Wire != row.field {
				t.Errorf("Validate = %v, want a FieldError of %s", err, row.field)
			}
		})
	}
}
