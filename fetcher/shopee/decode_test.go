package shopee

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/streamwatch/streamwatch/fetcher"
)

var (
	pen      = fetcher.ProductQuery{ShopID: 1, ItemID: 2}
	penFront = Storefront{Currency: "SGD", ImageURL: "https://i/"}
)

// TestFields gives an item one more field and looks at one of the record.
func TestFields(t *testing.T) {
	for _, tt := range []struct {
		name, field string
		record      string // name of the record's field
		want        any
	}{
		{"the least price in place of none", `"price":0,"price_min":1599000`, "Price", 15.99},
		{"a range the wrong way round", `"price":300000,"price_min":300000,"price_max":200000`, "PriceMax", 3.0},
		{"a hidden price before", `"price_before_discount":-1`, "PriceBeforeDiscount", (*float64)(nil)},
		{"no price before", `"price_before_discount":0`, "PriceBeforeDiscount", (*float64)(nil)},
		{"a label made of percent", `"discount":null,"raw_discount":15`, "Discount", new15()},
		{"no discount", `"discount":"0%","raw_discount":0`, "Discount", (*string)(nil)},
		{"no brand", `"brand":""`, "Brand", (*string)(nil)},
		{"the document's currency", `"currency":"MYR"`, "Currency", "MYR"},
		{"what is no currency", `"currency":"ringgit"`, "Currency", "SGD"},
		{"stars out of bounds", `"item_rating":{"rating_star":7}`, "RatingStar", 5.0},
		{"counts of too few stars", `"item_rating":{"rating_count":[9,4]}`, "Rating", map[string]int64{"1": 4, "2": 0, "3": 0, "4": 0, "5": 0}},
		{"a rating of another type", `"item_rating":"good"`, "RatingCountTotal", int64(0)},
		{"less than nothing in stock", `"stock":-5`, "Stock", int64(0)},
		{"the first image in place of none", `"images":["k"]`, "Image", "https://i/k"},
		{"an image's key is no path", `"image":"../x y"`, "Image", "https://i/..%2Fx%20y"},
		{"a whole address of an image", `"image":"https://cdn/x"`, "Image", "https://cdn/x"},
		{"a script for an image", `"image":"javascript://x"`, "Image", ""},
		{"null among images", `"images":[null,"k",7]`, "Images", []string{"https://i/k"}},
		{"categories without names", `"categories":[{"catid":1},null,"x",{"display_name":"Pens"}]`, "Categories", []string{"Pens"}},
		{"a model without id", `"models":[{"name":"x"},{"modelid":7,"price":-1}]`, "Models", []fetcher.ProductModel{{ModelID: 7}}},
		{"another status", `"item_status":"sold_out"`, "ItemStatus", "sold_out"},
		{"a time beyond the calendar", `"ctime":99999999999999`, "CreatedAt", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			doc := fmt.Sprintf(`{"data":{"itemid":2,"shopid":1,"name":"Pen","price":100000,%s}}`, tt.field)
			p, err := decode([]byte(doc), pen, penFront)
			if err != nil {
				t.Fatal(err)
			}
			if got := reflect.ValueOf(p).FieldByName(tt.record).Interface(); !reflect.DeepEqual(got, tt.want) {
				t.Errorf("%s is %#v, want %#v", tt.record, got, tt.want)
			}
		})
	}
}

func new15() *string { s := "15%"; return &s }

// FuzzDecode: whatever comes is an error, or a record that encodes without null
// lists and with prices in order.
func FuzzDecode(f *testing.F) {
	for _, doc := range []string{shirtDocument, bareDocument, blockedDocument, deletedDocument, captchaPage, "", "null", "[]", `{"data":[]}`,
		`{"data":{"itemid":2,"shopid":1,"name":"Pen","price":1e308,"price_max":"NaN","models":[{"modelid":1,"price":1e308}],"item_rating":{"rating_count":[1,2,3,4,5,6,7]}}}`,
		`{"data":{"itemid":"2","shopid":"1","name":7,"price":"5","images":["%","://"],"tier_variations":[{"options":[[]]}],"ctime":-1}}`} {
		f.Add(strings.ReplaceAll(strings.ReplaceAll(doc, "21448123549", "2"), "178926468", "1"))
	}
	f.Fuzz(func(t *testing.T, doc string) {
		p, err := decode([]byte(doc), pen, penFront)
		if err != nil {
			if !errors.Is(err, fetcher.ErrNotFound) && !errors.Is(err, fetcher.ErrMalformed) && !errors.Is(err, ErrBlocked) && !strings.HasPrefix(err.Error(), "error ") {
				t.Fatalf("error %v of no kind", err)
			}
			return
		}
		switch {
		case p.ItemID != 2 || p.ShopID != 1 || p.Name == "":
			t.Errorf("item %d of shop %d, %q", p.ItemID, p.ShopID, p.Name)
		case p.Price <= 0 || p.PriceMin <= 0 || p.PriceMax < p.PriceMin:
			t.Errorf("prices %g, %g to %g", p.Price, p.PriceMin, p.PriceMax)
		case p.Images == nil || p.Categories == nil || p.Attributes == nil || p.Models == nil || p.TierVariations == nil || len(p.Rating) != 5:
			t.Error("a list is nil")
		case p.Stock < 0 || p.RatingStar < 0 || p.RatingStar > 5:
			t.Errorf("stock %d, %g stars", p.Stock, p.RatingStar)
		}
		if _, err := json.Marshal(p); err != nil {
			t.Error(err)
		}
	})
}

// FuzzParseURL: an address that is accepted is of the item it was accepted for.
func FuzzParseURL(f *testing.F) {
	r, err := New(Config{})
	if err != nil {
		f.Fatal(err)
	}
	for _, u := range []string{"https://shopee.sg/x-i.1.2", "https://www.shopee.tw/product/3/4?a=b", "https://shopee.sg/-i..", "://", "https://shopee.sg/%zz"} {
		f.Add(u)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		q, err := r.ParseURL(raw)
		if err != nil {
			return
		}
		host := strings.TrimPrefix(DefaultStorefronts()[q.Market].BaseURL, "https://")
		again, err := r.ParseURL(fmt.Sprintf("https://%s/x-i.%d.%d", host, q.ShopID, q.ItemID))
		if err != nil || again != q || q.ShopID < 1 || q.ItemID < 1 {
			t.Fatalf("%q is %+v, and again %+v, %v", raw, q, again, err)
		}
	})
}
