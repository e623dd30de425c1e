package shopee

import (
	"net/url"
	"strings"
)

// Storefront is one country's marketplace.
type Storefront struct {
	// BaseURL is the scheme and host of the server, such as "https://shopee.sg".
	BaseURL string
	// Host is the host in the URLs of items, such as "shopee.sg". ParseURL uses it, and ignores
	// case and a leading "www.". If several storefronts have the same Host, the first by market
	// code is used. Defaults to the host of BaseURL.
	Host string
	// Currency is the currency (ISO 4217) of prices if the document names none.
	Currency string
	// ImageURL followed by an image's key is the image's URL.
	ImageURL string
}

// DefaultStorefronts returns the marketplaces by market code: sg (the default of a
// query), my, th, vn, id, ph, tw, br and mx. Each call returns a new map.
func DefaultStorefronts() map[string]Storefront {
	fronts := make(map[string]Storefront)
	for _, f := range [...]struct{ code, host, currency string }{
		{"sg", "shopee.sg", "SGD"},
		{"my", "shopee.com.my", "MYR"},
		{"th", "shopee.co.th", "THB"},
		{"vn", "shopee.vn", "VND"},
		{"id", "shopee.co.id", "IDR"},
		{"ph", "shopee.ph", "PHP"},
		{"tw", "shopee.tw", "TWD"},
		{"br", "shopee.com.br", "BRL"},
		{"mx", "shopee.com.mx", "MXN"},
	} {
		fronts[f.code] = Storefront{
			BaseURL:  "https://" + f.host,
			Host:     f.host,
			Currency: f.currency,
			ImageURL: "https://down-" + f.code + ".img.susercontent.com/file/",
		}
	}
	return fronts
}

// isCurrency reports whether s has the form of an ISO 4217 code.
func isCurrency(s string) bool {
	if len(s) != 3 {
		return false
	}
	for i := range 3 {
		if s[i] < 'A' || s[i] > 'Z' {
			return false
		}
	}
	return true
}

func isWebURL(s string) bool {
	u, err := url.Parse(s)
	return err == nil && (u.Scheme == "https" || u.Scheme == "http") && u.Host != ""
}

// plainHost is a host as it is compared.
func plainHost(host string) string { return strings.TrimPrefix(strings.ToLower(host), "www.") }
