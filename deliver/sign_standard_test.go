package deliver_test

import (
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
	"github.com/streamwatch/streamwatch/deliver"
)

// bodies are what a signature has to cover to the byte.
var bodies = []string{
	"", body, "\x00", "\xff\xfe not UTF-8", "<script>&amp;\u2028\u2029", `{"id":9223372036854775807}`,
	"Zażółć gęślą jaźń, 火箭 🚀👩\u200d🚀 e\u0301", "a.b.c", "line\r\nline", strings.Repeat("ą", 128<<10),
}

// The official library verifies what SignStandard signs, keyed as its users do.
func TestSignStandardWithTheOfficialLibrary(t *testing.T) {
	fromText := func(s string) (*standardwebhooks.Webhook, error) { return standardwebhooks.NewWebhook(s) }
	raw := func(s string) (*standardwebhooks.Webhook, error) { return standardwebhooks.NewWebhookRaw([]byte(s)) }
	for _, row := range []struct {
		name   string
		secret deliver.Secret
		theirs func(string) (*standardwebhooks.Webhook, error)
	}{
		{"whsec_ and base64: the decoded bytes", secret, fromText},
		{"a generated secret", deliver.GenerateSecret(), fromText},
		{"plain text: its bytes", "correct horse battery staple", raw},
		{"plain text that happens to be base64: its bytes", "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLASw", raw},
		{"whsec_ and no base64: its bytes, prefix included", "whsec_of-this-test-and-no-other", raw},
		{"whsec_ in capitals is no prefix", "WHSEC_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLASw", raw},
	} {
		t.Run(row.name, func(t *testing.T) {
			wh, err := row.theirs(string(row.secret))
			if err != nil {
				t.Fatal(err)
			}
			for i, b := range bodies {
				at := time.Now().Add(time.Duration(i) * time.Second)
				h := http.Header{}
				h.Set(deliver.HeaderStandardID, "dlv_1")
				h.Set(deliver.HeaderStandardTimestamp, strconv.FormatInt(at.Unix(), 10))
				h.Set(deliver.HeaderStandardSignature, deliver.SignStandard(row.secret, "dlv_1", at, []byte(b)))
				if err := wh.Verify([]byte(b), h); err != nil {
					t.Errorf("body %.20q: %v", b, err)
				}
				theirs, err := wh.Sign("dlv_1", at, []byte(b))
				if err != nil || theirs != h.Get(deliver.HeaderStandardSignature) {
					t.Errorf("body %.20q: the library signs %s (%v)", b, theirs, err)
				}
			}
		})
	}
}

// The vector is the specification's own.
func TestSignStandardVector(t *testing.T) {
	const want = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
	got := deliver.SignStandard("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "msg_p5jXN8AQM9LWM0D4loKWxJek", time.Unix(1614265330, 0), []byte(`{"test": 2432232314}`))
	if got != want {
		t.Errorf("SignStandard = %s, want %s", got, want)
	}
}

func BenchmarkSignStandard(b *testing.B) {
	payload := edited(nil)
	at := time.Unix(1614265330, 0)
	b.ReportAllocs()
	b.SetBytes(int64(len(payload)))
	for b.Loop() {
		deliver.SignStandard(secret, "dlv_1", at, payload)
	}
}
