package enginehttp_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/streamwatch/streamwatch"
	"github.com/streamwatch/streamwatch/apikey"
	"github.com/streamwatch/streamwatch/billing"
	"github.com/streamwatch/streamwatch/enginehttp"
	"github.com/streamwatch/streamwatch/enginetest"
	"github.com/streamwatch/streamwatch/storage/memory"
)

// A service with one customer, who asks for the balance.
func ExampleNew() {
	ctx := context.Background()
	store := memory.New(memory.Options{})
	defer store.Close(ctx)
	engine, err := streamwatch.New(streamwatch.Config{Fetcher: enginetest.NewPlatform(enginetest.PlatformConfig{}), Store: store})
	if err != nil {
		fmt.Println(err)
		return
	}
	keys, err := apikey.NewManager(apikey.Config{Records: store.Ports().Records})
	if err != nil {
		fmt.Println(err)
		return
	}
	api, err := enginehttp.New(engine, enginehttp.Options{Auth: keys, Ledger: store.Ports().Ledger})
	if err != nil {
		fmt.Println(err)
		return
	}

	// In a program: enginehttp.NewServer(api), beside engine.Run.
	server := httptest.NewServer(api)
	defer server.Close()

	key, err := keys.Issue(ctx, apikey.IssueRequest{Owner: "acme", Name: "production", Tier: "pro", RatePerMinute: 60})
	if err != nil {
		fmt.Println(err)
		return
	}
	err = store.Ports().Ledger.Append(ctx, billing.Entry{ID: "invoice-1", Owner: "acme", Kind: billing.KindTopUp, Amount: 500 * billing.Credit, At: time.Now()})
	if err != nil {
		fmt.Println(err)
		return
	}

	req, _ := http.NewRequest("GET", server.URL+"/v1/account/me", nil)
	req.Header.Set("x-api-key", string(key.Secret))
	resp, err := server.Client().Do(req)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer resp.Body.Close()
	body, _ := io.ReadAll(resp.Body)
	fmt.Println(resp.Status, "used", resp.Header.Get("X-Credits-Used"))
	fmt.Print(string(body))
	// Output:
	// 200 OK used 1
	// {"credits_balance":499,"subscription_credits_balance":0,"total_credits_balance":499,"tier":"pro","rate_limit_per_minute":60}
}
