package control_test

import (
	"fmt"
	"testing"

	"github.com/streamwatch/streamwatch/internal/control"
)

// A decoder returns what the JSON says, the first time and the next, of more texts than it keeps.
func TestDecoder(t *testing.T) {
	type data struct{ Name string }
	var d control.Decoder[data]
	for range 2 {
		for i := range 2500 {
			name := fmt.Sprint(i)
			if i%100 == 0 {
				name = fmt.Sprintf("%05000d", i)
			}
			if got, err := d.Decode([]byte(`{"Name":"` + name + `"}`)); err != nil || got.Name != name {
				t.Fatalf("decoded %.20q, %v, want %.20q", got.Name, err, name)
			}
		}
		if got, err := d.Decode([]byte(`{"Name":`)); err == nil {
			t.Errorf("half a text is decoded as %+v", got)
		}
	}
}
