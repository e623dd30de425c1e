package billing_test

import (
	"errors"
	"testing"

	"github.com/streamwatch/streamwatch/billing"
)

func TestValidate(t *testing.T) {
	for _, row := range []struct {
		name  string
		value interface{ Validate() error }
		field string // of the *FieldError that is wanted
		err   error  // that is wanted besides
	}{
		{"an entry", &billing.Entry{ID: "e"}, "", nil},
		{"an entry of a charge", &billing.Entry{ID: "e", Amount: -1}, "", nil},
		{"an entry without id", &billing.Entry{Owner: "acme"}, "Entry.ID", nil},
		{"a reservation", &billing.Reservation{ID: "r", Amount: 1}, "", nil},
		{"a reservation of nothing", &billing.Reservation{ID: "r"}, "", nil},
		{"a reservation without id", &billing.Reservation{Amount: 1}, "Reservation.ID", nil},
		{"a negative reservation", &billing.Reservation{ID: "r", Amount: -1}, "", billing.ErrAmount},
	} {
		t.Run(row.name, func(t *testing.T) {
			err := row.value.Validate()
			var field *billing.FieldError
			switch {
			case row.field != "":
				if !errors.As(err, &field) || field.Package != "billing" || field.Wire != row.field {
					t.Errorf("Validate = %v, want a FieldError of %s", err, row.field)
				}
			case !errors.Is(err, row.err):
				t.Errorf("Validate = %v, want %v", err, row.err)
			}
		})
	}
}
