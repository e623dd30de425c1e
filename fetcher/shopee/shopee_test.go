package shopee

import (
	"encoding/json"
	"errors"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/streamwatch/streamwatch/fetcher"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// reader asks a loopback storefront, as market sg and my.
func reader(t testing.TB, h http.HandlerFunc) *Reader {
	server := httptest.NewServer(h)
	client := server.Client()
	t.Cleanup(func() { client.CloseIdleConnections(); server.Close() })
	front := Storefront{BaseURL: server.URL, Currency: "SGD", ImageURL: "https://img.example/file/"}
	my := front
	my.Currency = "MYR"
	r, err := New(Config{
		Storefronts: map[string]Storefront{"sg": front, "my": my},
		HTTP:        client,
		Now:         func() time.Time { return time.Unix(1_800_000_000, 0) },
	})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func answers(status int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		io.WriteString(w, body)
	}
}

// The record is the interface's, name by name.
func TestProductAsJSON(t *testing.T) {
	r := reader(t, func(w http.ResponseWriter, req *http.Request) {
		if got, want := req.URL.RequestURI(), "/api/v4/item/get?itemid=21448123549&shopid=178926468"; got != want {
			t.Errorf("asked for %s, want %s", got, want)
		}
		io.WriteString(w, shirtDocument)
	})
	detail, err := r.Product(t.Context(), fetcher.ProductQuery{ShopID: 178926468, ItemID: 21448123549})
	if err != nil {
		t.Fatal(err)
	}
	got, _ := json.MarshalIndent(detail, "", " ")
	const want = `{
 "market": "sg",
 "product": {
  "item_id": 21448123549,
  "shop_id": 178926468,
  "name": "Cotton Shirt – Unisex",
  "price": 15.99,
  "price_min": 15.99,
  "price_max": 19.99,
  "price_before_discount": 25,
  "discount": "27%",
  "currency": "SGD",
  "rating_star": 4.537993920972644,
  "rating_count_total": 329,
  "rating": {
   "1": 8,
   "2": 8,
   "3": 21,
   "4": 54,
   "5": 238
  },
  "stock": 1200,
  "sold": 214,
  "historical_sold": 1514,
  "liked_count": 162,
  "comment_count": 329,
  "view_count": 9001,
  "image": "https://img.example/file/sg-11134201-22100-aaaaaaaaaaaaa1",
  "images": [
   "https://img.example/file/sg-11134201-22100-aaaaaaaaaaaaa1",
   "https://img.example/file/sg-11134201-22100-aaaaaaaaaaaaa2"
  ],
  "description": "100% cotton.\nWash cold.",
  "brand": "Loomcraft",
  "categories": [
   "Men Clothes",
   "Tops"
  ],
  "attributes": [
   {
    "name": "Material",
    "value": "Cotton"
   },
   {
    "name": "Season",
    "value": "Summer"
   }
  ],
  "models": [
   {
    "model_id": 166598625985,
    "name": "Black,M",
    "price": 15.99,
    "stock": 700
   },
   {
    "model_id": 166598625986,
    "name": "White,L",
    "price": 19.99,
    "stock": 500
   }
  ],
  "tier_variations": [
   {
    "name": "Colour",
    "options": [
     "Black",
     "White"
    ]
   },
   {
    "name": "Size",
    "options": [
     "M",
     "L"
    ]
   }
  ],
  "shop_location": "Singapore",
  "is_official_shop": true,
  "item_status": "normal",
  "ctime_utc": 1666316078,
  "created_at": "2022-10-21T01:34:38Z"
 }
}`
	if string(got) != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestBareItemHasEmptyListsAndNulls(t *testing.T) {
	r := reader(t, answers(200, bareDocument))
	detail, err := r.Product(t.Context(), fetcher.ProductQuery{ShopID: 1, ItemID: 2, Market: "MY"})
	if err != nil {
		t.Fatal(err)
	}
	got, _ := json.Marshal(detail)
	const want = `{"market":"my","product":{"item_id":2,"shop_id":1,"name":"Pen","price":1.5,"price_min":1.5,"price_max":1.5,` +
		`"price_before_discount":null,"discount":null,"currency":"MYR","rating_star":0,"rating_count_total":0,` +
		`"rating":{"1":0,"2":0,"3":0,"4":0,"5":0},"stock":0,"sold":0,"historical_sold":0,"liked_count":0,"comment_count":0,` +
		`"view_count":0,"image":"","images":[],"description":"","brand":null,"categories":[],"attributes":[],"models":[],` +
		`"tier_variations":[],"shop_location":"","is_official_shop":false,"item_status":"normal","ctime_utc":0,"created_at":""}}`
	if string(got) != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestErrors(t *testing.T) {
	doc := func(data string) string { return `{"error":null,"data":` + data + `}` }
	tests := []struct {
		name   string
		status int
		body   string
		want   error
	}{
		{"no such item", 200, deletedDocument, fetcher.ErrNotFound},
		{"no data", 200, doc("null"), fetcher.ErrNotFound},
		{"status 404", 404, "", fetcher.ErrNotFound},
		{"deleted", 200, doc(`{"itemid":2,"shopid":1,"name":"Pen","price":1,"item_status":"deleted"}`), fetcher.ErrNotFound},
		{"banned", 200, doc(`{"itemid":2,"shopid":1,"name":"Pen","price":1,"item_status":"banned"}`), fetcher.ErrNotFound},
		{"deleted, by number", 200, doc(`{"itemid":2,"shopid":1,"name":"Pen","price":1,"status":0}`), fetcher.ErrNotFound},
		{"anti-bot error", 200, blockedDocument, ErrBlocked},
		{"anti-bot error of another number", 200, `{"error":90309998,"tracking_id":"x"}`, ErrBlocked},
		{"anti-bot status", 403, blockedDocument, ErrBlocked},
		{"anti-bot teapot", 418, blockedDocument, ErrBlocked},
		{"captcha page", 200, captchaPage, ErrBlocked},
		{"blocked is unauthorized", 403, "", fetcher.ErrUnauthorized},
		{"another page", 200, "<html><body>Hello</body></html>", fetcher.ErrMalformed},
		{"empty", 200, "", fetcher.ErrMalformed},
		{"cut short", 200, shirtDocument[:300], fetcher.ErrMalformed},
		{"a list", 200, "[]", fetcher.ErrMalformed},
		{"null", 200, "null", fetcher.ErrMalformed},
		{"data of another type", 200, doc("7"), fetcher.ErrMalformed},
		{"an empty item", 200, doc("{}"), fetcher.ErrMalformed},
		{"another item", 200, shirtDocument, fetcher.ErrMalformed},
		{"no name", 200, doc(`{"itemid":2,"shopid":1,"price":1}`), fetcher.ErrMalformed},
		{"no price", 200, doc(`{"itemid":2,"shopid":1,"name":"Pen","price":-1}`), fetcher.ErrMalformed},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := reader(t, answers(tt.status, tt.body)).Product(t.Context(), fetcher.ProductQuery{ShopID: 1, ItemID: 2})
			if !errors.Is(err, tt.want) || !strings.HasPrefix(err.Error(), "shopee: market sg: item 2 of shop 1: ") {
				t.Errorf("error %v, want %v", err, tt.want)
			}
		})
	}
}

func TestOtherErrorsAreTransient(t *testing.T) {
	_, err := reader(t, answers(200, `{"error":1,"error_msg":"try later"}`)).Product(t.Context(), fetcher.ProductQuery{ShopID: 1, ItemID: 2})
	for _, not := range []error{fetcher.ErrNotFound, fetcher.ErrMalformed, fetcher.ErrUnauthorized, fetcher.ErrProtected} {
		if err == nil || errors.Is(err, not) {
			t.Errorf("error %v, want one of no kind", err)
		}
	}
	if err != nil && !strings.Contains(err.Error(), `error 1: "try later"`) {
		t.Errorf("error %v does not say what the storefront said", err)
	}
	_, err = reader(t, answers(502, "")).Product(t.Context(), fetcher.ProductQuery{ShopID: 1, ItemID: 2})
	var status *fetcher.StatusError
	if !errors.As(err, &status) || status.Code != 502 {
		t.Errorf("error %v, want status 502", err)
	}
}

func TestRateLimit(t *testing.T) {
	r := reader(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "30")
		w.WriteHeader(429)
	})
	_, err := r.Product(t.Context(), fetcher.ProductQuery{ShopID: 1, ItemID: 2})
	var limit *fetcher.RateLimitError
	if !errors.As(err, &limit) || limit.RetryAfter != 30*time.Second {
		t.Errorf("error %v, want a rate limit of 30 s", err)
	}
}

func TestQueriesRefused(t *testing.T) {
	r := reader(t, func(http.ResponseWriter, *http.Request) { t.Error("a request was made") })
	for _, tt := range []struct {
		field string
		query fetcher.ProductQuery
	}{
		{"market", fetcher.ProductQuery{ShopID: 1, ItemID: 2, Market: "xx"}},
		{"shop_id", fetcher.ProductQuery{ItemID: 2}},
		{"shop_id", fetcher.ProductQuery{ShopID: -1, ItemID: 2}},
		{"item_id", fetcher.ProductQuery{ShopID: 1}},
	} {
		_, err := r.Product(t.Context(), tt.query)
		var field *fetcher.ArgumentError
		if !errors.As(err, &field) || field.Field != tt.field {
			t.Errorf("%+v: error %v, want one of %s", tt.query, err, tt.field)
		}
	}
}

func TestNewRefuses(t *testing.T) {
	good := Storefront{BaseURL: "https://h", Currency: "SGD", ImageURL: "https://i/"}
	for _, tt := range []struct {
		name, want string
		code       string
		change     func(*Storefront)
	}{
		{"a market in capitals", `market "SG"`, "SG", func(*Storefront) {}},
		{"no market", `market ""`, "", func(*Storefront) {}},
		{"no currency", "Currency", "sg", func(s *Storefront) { s.Currency = "" }},
		{"a currency in small letters", `Currency "sgd"`, "sg", func(s *Storefront) { s.Currency = "sgd" }},
		{"no server", "BaseURL", "sg", func(s *Storefront) { s.BaseURL = "" }},
		{"a host that is an address", `Host "https://h"`, "sg", func(s *Storefront) { s.Host = "https://h" }},
		{"a host with a password", `Host "***"`, "sg", func(s *Storefront) { s.Host = "u:p@h" }},
		{"a host with a path", `Host "h/x"`, "sg", func(s *Storefront) { s.Host = "h/x" }},
		{"no images", "ImageURL", "sg", func(s *Storefront) { s.ImageURL = "" }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			front := good
			tt.change(&front)
			_, err := New(Config{Storefronts: map[string]Storefront{tt.code: front}})
			if err == nil || !strings.HasPrefix(err.Error(), "shopee: ") || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want one that names %s", err, tt.want)
			}
		})
	}
}

func TestParseURL(t *testing.T) {
	r, err := New(Config{})
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		url  string
		want fetcher.ProductQuery // zero when refused
	}{
		{"https://shopee.sg/Cotton-Shirt-i.178926468.21448123549", fetcher.ProductQuery{ShopID: 178926468, ItemID: 21448123549, Market: "sg"}},
		{"https://www.shopee.com.my/x-i.1.2?sp_atk=a&xptdk=b#c", fetcher.ProductQuery{ShopID: 1, ItemID: 2, Market: "my"}},
		{"http://SHOPEE.co.th/%E0%B9%80-i.1.2/", fetcher.ProductQuery{ShopID: 1, ItemID: 2, Market: "th"}},
		{"https://shopee.vn/Wi-fi-i.3-pack-i.1.2", fetcher.ProductQuery{ShopID: 1, ItemID: 2, Market: "vn"}},
		{"https://shopee.com.br/product/5/6", fetcher.ProductQuery{ShopID: 5, ItemID: 6, Market: "br"}},
		{"https://shopee.tw/product/9223372036854775807/1", fetcher.ProductQuery{ShopID: math.MaxInt64, ItemID: 1, Market: "tw"}},
		{"https://shopee.sg/x-i.1.9223372036854775808", fetcher.ProductQuery{}},
		{"https://shopee.sg/x-i.1", fetcher.ProductQuery{}},
		{"https://shopee.sg/x-i.1.2.3", fetcher.ProductQuery{}},
		{"https://shopee.sg/x-i.0.2", fetcher.ProductQuery{}},
		{"https://shopee.sg/x-i.+1.2", fetcher.ProductQuery{}},
		{"https://shopee.sg/product/1", fetcher.ProductQuery{}},
		{"https://shopee.sg/", fetcher.ProductQuery{}},
		{"https://evil.example/x-i.1.2", fetcher.ProductQuery{}},
		{"https://shopee.sg.evil.example/x-i.1.2", fetcher.ProductQuery{}},
		{"ftp://shopee.sg/x-i.1.2", fetcher.ProductQuery{}},
		{"x-i.1.2", fetcher.ProductQuery{}},
		{"", fetcher.ProductQuery{}},
	} {
		got, err := r.ParseURL(tt.url)
		if got != tt.want || (err == nil) != (tt.want != fetcher.ProductQuery{}) {
			t.Errorf("ParseURL(%q) = %+v, %v, want %+v", tt.url, got, err, tt.want)
		}
		var field *fetcher.ArgumentError
		if err != nil && !errors.As(err, &field) {
			t.Errorf("ParseURL(%q): error %v, want a *fetcher.ArgumentError", tt.url, err)
		}
	}
}

// Behind a gateway, and with any case and www. at the beginning, a storefront's addresses
// are those of its host.
func TestParseURLOfAGateway(t *testing.T) {
	fronts := DefaultStorefronts()
	for code, front := range fronts {
		front.BaseURL = "https://gateway.example"
		fronts[code] = front
	}
	fronts["eu"] = Storefront{BaseURL: "https://www.Shop.example", Currency: "EUR", ImageURL: "https://i/"}
	fronts["us"] = Storefront{BaseURL: "https://gateway.example", Host: "WWW.us.example", Currency: "USD", ImageURL: "https://i/"}
	r, err := New(Config{Storefronts: fronts})
	if err != nil {
		t.Fatal(err)
	}
	for address, want := range map[string]string{
		"https://shopee.sg/x-i.1.2": "sg", "https://www.shopee.com.my/x-i.1.2": "my",
		"https://www.shop.example/x-i.1.2": "eu", "https://shop.example/x-i.1.2": "eu", "https://us.example/x-i.1.2": "us",
	} {
		if q, err := r.ParseURL(address); err != nil || q.Market != want {
			t.Errorf("%s: market %q, %v, want %q", address, q.Market, err, want)
		}
	}
	_, err = r.ParseURL("https://gateway.example/x-i.1.2")
	if err == nil || !strings.Contains(err.Error(), "shopee.sg") || !strings.Contains(err.Error(), "us.example") {
		t.Errorf("error %v, want one that names the hosts", err)
	}
}
