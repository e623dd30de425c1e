package webhook_test

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/deliver/webhook"
)

// A transport of one's own keeps the guard against private addresses by connecting
// through it.
func ExampleConfig_transport() {
	guard := &webhook.Guard{}
	sender, err := webhook.New(webhook.Config{Transport: &http.Transport{
		DialContext:            guard.DialContext,
		ForceAttemptHTTP2:      true,
		DisableCompression:     true,
		MaxResponseHeaderBytes: 16 << 10,
		MaxIdleConnsPerHost:    4,
		IdleConnTimeout:        time.Minute,
	}})
	if err != nil {
		fmt.Println(err)
		return
	}
	r := sender.Send(context.Background(), &deliver.Delivery{
		ID:       "dlv_1",
		Event:    &deliver.Event{Body: []byte(`{}`)},
		Endpoint: deliver.Endpoint{ID: "whk_1", URL: "https://10.0.0.1/hook", Secret: deliver.GenerateSecret()},
	})
	fmt.Println(r.Error)
	// Output: url not allowed
}
