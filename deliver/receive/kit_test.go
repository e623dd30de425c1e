package receive_test

import (
	"strings"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/deliver/webhook"
	"github.com/streamwatch/streamwatch/fetcher"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const secret = deliver.Secret("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLASw")

// bodies are what a signature has to cover to the byte.
var bodies = []string{
	"", `{"event":"tweet.detected"}`, "\x00", "\xff\xfe not UTF-8", "<script>&amp;\u2028\u2029", `{"id":9223372036854775807}`,
	"Zażółć gęślą jaźń, 火箭 🚀👩\u200d🚀 e\u0301", "a.b.c", "line\r\nline", strings.Repeat("ą", 128<<10),
}

var (
	published = time.Date(2026, 7, 24, 21, 5, 48, 792e6, time.UTC)
	detected  = published.Add(1234*time.Millisecond + 999*time.Microsecond)
)

// sample is a post found by a monitor, from a platform that sends no author
// record along.
func sample() (*deliver.Event, *fetcher.Tweet) {
	t := &fetcher.Tweet{
		ID: "2080761390344937796", Text: "cut…", FullText: "in full: <b>\"é\" & 🧵</b>",
		UserID: "42", Username: "nasa", UserName: "NASA", PublishedAt: published,
	}
	e := &deliver.Event{
		ID: "evt_1", Source: deliver.Source{Kind: deliver.SourceMonitor, ID: "mon_1", Owner: "me", Name: "space"},
		TweetID: t.ID, AuthorUsername: "nasa", TweetURL: "https://x.com/nasa/status/2080761390344937796",
		PublishedAt: published, DetectedAt: detected, Latency: detected.Sub(published),
	}
	return e, t
}

// edited is the sample's body after a change.
func edited(change func(*deliver.Event, *fetcher.Tweet)) []byte {
	e, t := sample()
	if change != nil {
		change(e, t)
	}
	return deliver.AppendBody(nil, e, t)
}

func delivery(url string) *deliver.Delivery {
	return &deliver.Delivery{
		ID: "dlv_1", EndpointID: "whk_1", Event: &deliver.Event{ID: "evt_1", Body: edited(nil)},
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
