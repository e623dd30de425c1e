package receive_test

import (
	"strings"
	"testing"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/deliver/internal/delivertest"
	"github.com/streamwatch/streamwatch/deliver/webhook"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const secret = deliver.Secret("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLASw")

// bodies are what a signature has to cover to the byte.
var bodies = []string{
	"", `{"event":"tweet.detected"}`, "\x00", "\xff\xfe not UTF-8", "<script>&amp;\u2028\u2029", `{"id":9223372036854775807}`,
	"Zażółć gęślą jaźń, 火箭 🚀👩\u200d🚀 e\u0301", "a.b.c", "line\r\nline", strings.Repeat("ą", 128<<10),
}

func delivery(url string) *deliver.Delivery {
	return &deliver.Delivery{
		ID: "dlv_1", EndpointID: "whk_1", Event: &deliver.Event{ID: "evt_1", Body: delivertest.Body(nil)},
		Endpoint: deliver.Endpoint{ID: "whk_1", URL: url, Secret: secret},
	}
}

func newSender(t testing.TB, cfg webhook.Config) *webhook.Sender {
	t.Helper()
	s, err := webhook.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return s
}
