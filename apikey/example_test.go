package apikey_test

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/streamwatch/streamwatch/apikey"
	"github.com/streamwatch/streamwatch/secret"
	"github.com/streamwatch/streamwatch/storage/memory"
)

// A key is issued, used, and revoked.
func Example() {
	ctx := context.Background()
	store := memory.New(memory.Options{}) // or sqlite, or redisstore
	keys, err := apikey.NewManager(apikey.Config{Records: store.Ports().Records})
	if err != nil {
		fmt.Println(err)
		return
	}
	issued, err := keys.Issue(ctx, apikey.IssueRequest{Owner: "acme", Name: "production", RatePerMinute: 600})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("logs show", issued.Secret, "and the key begins with", string(issued.Secret)[:8])

	header := secret.Value(issued.Secret) // what a client sends as x-api-key
	who, err := keys.Authenticate(ctx, header)
	fmt.Println(who.Owner, who.RatePerMinute, err)

	if _, err := keys.Revoke(ctx, "acme", issued.ID); err != nil {
		fmt.Println(err)
	}
	_, err = keys.Authenticate(ctx, header)
	fmt.Println(errors.Is(err, apikey.ErrInvalid))

	_, err = keys.Authenticate(ctx, secret.Value("sw_live_"+strings.Repeat("0", 49)))
	fmt.Println(errors.Is(err, apikey.ErrInvalid))
	// Output:
	// logs show *** and the key begins with sw_live_
	// acme 600 <nil>
	// true
	// true
}
