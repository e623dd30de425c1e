package deliver_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/deliver/endpoints"
)

// A field that is added tomorrow is encoded, too, and one that holds a secret
// must not become ***.
func TestEncodeEndpointKeepsEveryField(t *testing.T) {
	var e deliver.Endpoint
	n := 0
	fillEndpoint(reflect.ValueOf(&e).Elem(), &n)
	b, err := deliver.EncodeEndpoint(e)
	if err != nil {
		t.Fatal(err)
	}
	got, err := deliver.DecodeEndpoint(b)
	if err != nil || !reflect.DeepEqual(got, e) {
		t.Errorf("decoded from %s (%v)", b, err)
	}
	if strings.Contains(string(b), "***") {
		t.Errorf("a secret was not encoded: %s", b)
	}
	if none, err := deliver.DecodeEndpoint([]byte(`{"ID":"whk_1","Later":1}`)); err != nil || !reflect.DeepEqual(none, deliver.Endpoint{ID: "whk_1"}) {
		t.Errorf("a record with a field more and many less: %+v, %v", none, err)
	}
	for _, damaged := range []string{"", "[]", `{"ID":1}`, `{"OldSecrets":{}}`} {
		if _, err := deliver.DecodeEndpoint([]byte(damaged)); err == nil || !strings.HasPrefix(err.Error(), "deliver: ") {
			t.Errorf("%q: %v", damaged, err)
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
