package outdated_test

import (
	"testing"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/deliver/dispatch/internal/outdated"
)

func TestHas(t *testing.T) {
	recorded := func(id string, n int) *deliver.Settlement {
		return &deliver.Settlement{DeliveryID: id, Attempt: &deliver.Attempt{N: n}}
	}
	for _, row := range []struct {
		name string
		do   func(*outdated.Claim)
		want bool // of delivery a with one attempt
	}{
		{"no call", func(c *outdated.Claim) { c.Record(recorded("a", 2)) }, false},
		{"nothing recorded", func(c *outdated.Claim) { c.Begin() }, false},
		{"its second attempt recorded", func(c *outdated.Claim) { c.Begin(); c.Record(recorded("a", 2)) }, true},
		{"the attempt recorded that it was claimed with", func(c *outdated.Claim) { c.Begin(); c.Record(recorded("a", 1)) }, false},
		{"another's attempt recorded", func(c *outdated.Claim) { c.Begin(); c.Record(recorded("b", 2)) }, false},
		{"given back", func(c *outdated.Claim) { c.Begin(); c.Record(&deliver.Settlement{DeliveryID: "a"}) }, false},
		{"recorded before the call", func(c *outdated.Claim) { c.Begin(); c.Record(recorded("a", 2)); c.Begin() }, false},
		{"recorded before the end", func(c *outdated.Claim) { c.Begin(); c.Record(recorded("a", 2)); c.End() }, false},
	} {
		var c outdated.Claim
		row.do(&c)
		if got := c.Has(&deliver.Delivery{ID: "a", Attempts: 1}); got != row.want {
			t.Errorf("%s: %t, want %t", row.name, got, row.want)
		}
	}
}
