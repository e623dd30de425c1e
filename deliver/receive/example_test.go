package receive_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/deliver/receive"
	"github.com/streamwatch/streamwatch/fetcher"
)

func ExampleVerifier_Handler() {
	const secret = deliver.Secret("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLASw")
	verifier, err := receive.NewVerifier(receive.Config{Secrets: []deliver.Secret{secret}, RequireTimestamp: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	handler := verifier.Handler(func(_ context.Context, r receive.Received) error {
		fmt.Printf("%s: @%s: %s\n", r.DeliveryID, r.AuthorUsername, r.TweetText)
		return nil
	})

	body := string(deliver.AppendBody(nil, &deliver.Event{Source: deliver.Source{ID: "mon_1"}, TweetID: "1", AuthorUsername: "nasa"},
		&fetcher.Tweet{ID: "1", Text: "liftoff"}))
	now := time.Now()
	request := httptest.NewRequest(http.MethodPost, "/webhook", strings.NewReader(body))
	request.Header.Set("webhook-id", "dlv_1")
	request.Header.Set("webhook-timestamp", fmt.Sprint(now.Unix()))
	request.Header.Set("webhook-signature", deliver.SignStandard(secret, "dlv_1", now, []byte(body)))
	answer := httptest.NewRecorder()
	handler.ServeHTTP(answer, request)
	fmt.Println(answer.Code)
	// Output:
	// dlv_1: @nasa: liftoff
	// 204
}

// A function that is called with a map of headers, as some platforms do.
func ExampleVerifier_Verify() {
	const secret = deliver.Secret("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLASw")
	verifier, err := receive.NewVerifier(receive.Config{Secrets: []deliver.Secret{secret}})
	if err != nil {
		fmt.Println(err)
		return
	}
	headers := map[string]string{"x-signature-256": "sha256=00", "x-delivery-id": "dlv_1"}
	_, err = verifier.Verify(func(name string) string { return headers[strings.ToLower(name)] }, []byte(`{"event":"tweet.detected"}`))
	fmt.Println(err)
	// Output: receive: no valid signature in X-Signature-256
}
