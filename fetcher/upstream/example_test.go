package upstream_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/streamwatch/streamwatch/fetcher/upstream"
)

// A platform states its limits in headers of its own.
func ExampleQuota() {
	platform := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X-Quota", "300")
		w.Header().Set("X-Quota-Left", "12")
		w.Header().Set("X-Quota-Reset", "90")
	}))
	defer platform.Close()
	client, err := upstream.New(upstream.Config{
		BaseURL: platform.URL,
		Quota:   upstream.Quota{Limit: "X-Quota", Remaining: "X-Quota-Left", Reset: "X-Quota-Reset", Form: upstream.ResetSeconds},
		Now:     func() time.Time { return time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC) },
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	resp, err := client.Get(context.Background(), "/posts", nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(resp.RateLimit.Remaining, "of", resp.RateLimit.Limit, "left until", resp.RateLimit.Reset.Format(time.TimeOnly))
	// Output: 12 of 300 left until 12:01:30
}
