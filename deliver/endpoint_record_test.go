package deliver_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/deliver/endpoints"
	"github.com/streamwatch/streamwatch/record"
)

// Every field of an Endpoint comes back from its record, also one that is added later, and secrets as
// they are. FailingSince is the record's Note.
func TestEndpointRecord(t *testing.T) {
	var e deliver.Endpoint
	n := 0
	fillEndpoint(reflect.ValueOf(&e).Elem(), &n)
	r, err := e.Record()
	if err != nil {
		t.Fatal(err)
	}
	if r.Note != "" || strings.Contains(string(r.Data), "***") {
		t.Errorf("record %+v with the data %s: want no Note, which changes keep, and secrets as they are", r, r.Data)
	}
	parent := record.Key{Kind: record.Kind(e.Source.Kind), ID: e.Source.ID}
	if r.Key != (record.Key{Kind: record.Endpoint, ID: e.ID}) || r.Owner != e.Source.Owner || r.Parent != parent || r.Name != e.URL || r.Status != string(e.Status) {
		t.Errorf("a store cannot find, count or check it: %+v", r)
	}
	note := e.FailingNote()
	if note.Ref != r.Ref() {
		t.Errorf("note of %+v, want of this version: %+v", note.Ref, r.Ref())
	}
	r.Note = note.Text
	if got, err := deliver.EndpointFromRecord(r); err != nil || !reflect.DeepEqual(got, e) {
		t.Errorf("from its record: %+v, %v; want %+v", got, err, e)
	}
	if e.FailingSince = (time.Time{}); e.FailingNote().Text != "" {
		t.Errorf("note %q of an endpoint that does not fail", e.FailingNote().Text)
	}
	for _, row := range []struct {
		name, data, note string
		ok               bool
	}{
		{"a field more and many less", `{"Later":1}`, "", true},
		{"no data", "", "", false},
		{"a list", "[]", "", false},
		{"a field of another type", `{"OldSecrets":{}}`, "", false},
		{"a note that is no time", "{}", "yesterday", false},
	} {
		got, err := deliver.EndpointFromRecord(record.Record{Key: record.Key{Kind: record.Endpoint, ID: "whk_1"}, Data: []byte(row.data), Note: row.note})
		if row.ok && (err != nil || !reflect.DeepEqual(got, deliver.Endpoint{ID: "whk_1"})) || !row.ok && (err == nil || !strings.HasPrefix(err.Error(), "deliver: ")) {
			t.Errorf("%s: %+v, %v", row.name, got, err)
		}
	}
}

// fillEndpoint gives every field a value of its own.
func fillEndpoint(v reflect.Value, n *int) {
	*n++
	switch {
	case v.Type() == reflect.TypeFor[time.Time]():
		v.Set(reflect.ValueOf(time.Date(2026, 1, 1, *n, 0, 0, *n, time.UTC)))
	case v.Kind() == reflect.Struct:
		for i := range v.NumField() {
			fillEndpoint(v.Field(i), n)
		}
	case v.Kind() == reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		fillEndpoint(v.Index(0), n)
		fillEndpoint(v.Index(1), n)
	case v.Kind() == reflect.String:
		v.SetString(fmt.Sprintf("value %d 🛰 \x00<&>'\"", *n))
	case v.CanFloat():
		v.SetFloat(float64(*n) + 0.1)
	case v.Kind() == reflect.Bool:
		v.SetBool(true)
	case v.CanInt():
		v.SetInt(int64(*n))
	default:
		panic("no value for " + v.Type().String())
	}
}

func TestEndpointNeverPrintsASecret(t *testing.T) {
	const canary = "canary-4711-of-an-endpoint"
	e := deliver.Endpoint{ID: "whk_1", Secret: canary, OldSecrets: []deliver.OldSecret{{Secret: canary}},
		Headers: []deliver.Header{{Name: "Authorization", Value: canary}}}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d"} {
		for _, v := range []any{e, &e, []deliver.Endpoint{e}, deliver.Delivery{Endpoint: e}, e.OldSecrets, e.Headers,
			endpoints.NewEndpoint{Secret: canary, Headers: e.Headers},
			endpoints.Update{Secret: &e.Secret, Headers: e.Headers}, endpoints.SealKey{Key: canary}} {
			if s := fmt.Sprintf(verb, v); strings.Contains(s, canary) || strings.Contains(strings.ToLower(s), fmt.Sprintf("%x", canary)) {
				t.Errorf("%s of %T shows a secret: %s", verb, v, s)
			}
		}
	}
}
