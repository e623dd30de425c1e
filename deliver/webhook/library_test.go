package webhook_test

import (
	"net/http"
	"strings"
	"testing"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/deliver/webhook"
)

// bodies are what a signature has to cover to the byte.
var bodies = []string{
	"", body, "\x00", "\xff\xfe not UTF-8", "<script>&amp;\u2028\u2029", `{"id":9223372036854775807}`,
	"Zażółć gęślą jaźń, 火箭 🚀👩\u200d🚀 e\u0301", "a.b.c", "line\r\nline", strings.Repeat("ą", 128<<10),
}

// A receiver that uses the library as documented accepts a delivery.
func TestWebhookRequestWithTheOfficialLibrary(t *testing.T) {
	wh, err := standardwebhooks.NewWebhook(string(secret))
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range bodies {
		d := delivery("https://example.com/hook")
		d.Event = &deliver.Event{Body: []byte(b)}
		hook := webhook.Must(webhook.Config{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
			if err := wh.Verify([]byte(b), r.Header); err != nil {
				t.Errorf("body %.20q: %v", b, err)
			}
			if !deliver.Verify(secret, []byte(b), r.Header.Get(deliver.HeaderSignature)) {
				t.Errorf("body %.20q: X-Signature-256 is not right", b)
			}
			return answer(200, "")(r)
		})})
		if r := hook.Send(t.Context(), d); !r.OK {
			t.Errorf("body %.20q: %+v", b, r)
		}
	}
}
