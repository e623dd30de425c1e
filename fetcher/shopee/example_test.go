package shopee_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"

	"github.com/streamwatch/streamwatch/fetcher/shopee"
)

// A storefront of one's own stands in for the marketplace.
func Example() {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		io.WriteString(w, `{"error":null,"data":{"itemid":22,"shopid":11,"name":"Fountain pen","price":1299000,"stock":3}}`)
	}))
	defer server.Close()

	r, err := shopee.New(shopee.Config{Storefronts: map[string]shopee.Storefront{
		"sg": {BaseURL: server.URL, Currency: "SGD", ImageURL: "https://img.example/"},
	}})
	if err != nil {
		fmt.Println(err)
		return
	}
	q, err := r.ParseURL(server.URL + "/Fountain-pen-i.11.22")
	if err != nil {
		fmt.Println(err)
		return
	}
	detail, err := r.Product(context.Background(), q)
	if err != nil {
		fmt.Println(err)
		return
	}
	p := detail.Product
	fmt.Printf("%s: %.2f %s, %d left\n", p.Name, p.Price, p.Currency, p.Stock)
	// Output: Fountain pen: 12.99 SGD, 3 left
}

// The marketplaces that are known, and one more.
func ExampleDefaultStorefronts() {
	fronts := shopee.DefaultStorefronts()
	fronts["eu"] = shopee.Storefront{BaseURL: "https://gateway.example", Currency: "EUR", ImageURL: "https://img.example/"}
	_, err := shopee.New(shopee.Config{Storefronts: fronts})
	fmt.Println(len(fronts), fronts["th"].Currency, err)
	// Output: 10 THB <nil>
}
