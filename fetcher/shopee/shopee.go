package shopee

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/fetcher/upstream"
)

// defaultMarket is the market of a query that names none.
const defaultMarket = "sg"

// ErrBlocked means that the storefront's anti-bot check refused the request. It wraps
// fetcher.ErrUnauthorized, because a retry is useless.
var ErrBlocked = fmt.Errorf("shopee: refused by the anti-bot check: %w", fetcher.ErrUnauthorized)

// Config configures a Reader. A zero field means the default.
type Config struct {
	// Storefronts are the storefronts to read, by market code in lower case.
	// Defaults to DefaultStorefronts().
	Storefronts map[string]Storefront
	// HTTP makes the requests. Defaults to a client of package upstream with a timeout of
	// 30 s per request, which follows redirects within the same host only.
	HTTP *http.Client
	// UserAgent defaults to upstream.DefaultUserAgent.
	UserAgent string
	// MaxBody is the largest allowed size of a decompressed document, in bytes. Defaults to 8
	// MiB.
	MaxBody int64
	// Now is the clock for rate-limit resets. Defaults to time.Now.
	Now func() time.Time
}

// Reader reads items. It is safe for concurrent use.
type Reader struct {
	shops map[string]shop
}

// shop is a storefront with its client.
type shop struct {
	Storefront
	client *upstream.Client
}

var _ fetcher.ProductReader = (*Reader)(nil)

// New checks cfg and returns a Reader. It makes no request.
func New(cfg Config) (*Reader, error) {
	if cfg.Storefronts == nil {
		cfg.Storefronts = DefaultStorefronts()
	}
	r := &Reader{shops: make(map[string]shop)}
	for code, front := range cfg.Storefronts {
		if code == "" || code != strings.ToLower(code) {
			return nil, fmt.Errorf("shopee: Storefronts: market %q is not allowed: want a code in lower case", code)
		}
		if !isCurrency(front.Currency) {
			return nil, fmt.Errorf("shopee: Storefronts[%q].Currency %q is not allowed: want three capital letters (ISO 4217)", code, front.Currency)
		}
		if !isWebURL(front.ImageURL) {
			return nil, fmt.Errorf("shopee: Storefronts[%q].ImageURL %q is not allowed: want http:// or https:// and a host", code, upstream.PlainURL(front.ImageURL))
		}
		client, err := upstream.New(upstream.Config{
			BaseURL: front.BaseURL, HTTP: cfg.HTTP, UserAgent: cfg.UserAgent, MaxBody: cfg.MaxBody, Now: cfg.Now})
		if err != nil {
			return nil, fmt.Errorf("shopee: Storefronts[%q]: %w", code, err)
		}
		if front.Host == "" {
			front.Host = client.Host()
		}
		if u, err := url.Parse("https://" + front.Host); err != nil || u.Host != front.Host {
			return nil, fmt.Errorf("shopee: Storefronts[%q].Host %q is not allowed: want a host such as shopee.sg", code, shown(front.Host))
		}
		front.Host = plainHost(front.Host)
		r.shops[code] = shop{front, client}
	}
	return r, nil
}

// Product reads an item in one request. If the query is not allowed, it returns
// *fetcher.ArgumentError. If the anti-bot check refuses the request, it returns ErrBlocked.
// Other errors are those of package fetcher: ErrNotFound for a missing, deleted or banned item;
// *RateLimitError; *StatusError; ErrMalformed for a document that cannot be parsed or has
// another item.
func (r *Reader) Product(ctx context.Context, q fetcher.ProductQuery) (fetcher.ProductDetail, error) {
	market := strings.ToLower(q.Market)
	if market == "" {
		market = defaultMarket
	}
	s, ok := r.shops[market]
	switch {
	case !ok:
		return refuse("market", q.Market, strings.Join(slices.Sorted(maps.Keys(r.shops)), ", "))
	case q.ShopID < 1:
		return refuse("shop_id", strconv.FormatInt(q.ShopID, 10), "a number above 0")
	case q.ItemID < 1:
		return refuse("item_id", strconv.FormatInt(q.ItemID, 10), "a number above 0")
	}
	resp, err := s.client.Get(ctx, fmt.Sprintf("/api/v4/item/get?itemid=%d&shopid=%d", q.ItemID, q.ShopID), nil)
	if err != nil {
		return fetcher.ProductDetail{}, fmt.Errorf("shopee: market %s: item %d of shop %d: %w", market, q.ItemID, q.ShopID, blocked(err))
	}
	defer resp.Release()
	p, err := decode(resp.Body, q, s.Storefront)
	if err != nil {
		return fetcher.ProductDetail{}, fmt.Errorf("shopee: market %s: item %d of shop %d: %w", market, q.ItemID, q.ShopID, err)
	}
	return fetcher.ProductDetail{Market: market, Product: p}, nil
}

func refuse(field, value, allowed string) (fetcher.ProductDetail, error) {
	return fetcher.ProductDetail{}, fmt.Errorf("shopee: %w", &fetcher.ArgumentError{Field: field, Value: value[:min(len(value), 40)], Allowed: allowed})
}

// blocked returns ErrBlocked if err has the status of an anti-bot answer, otherwise err.
func blocked(err error) error {
	var status *fetcher.StatusError
	if errors.Is(err, fetcher.ErrProtected) || errors.As(err, &status) && status.Code == http.StatusTeapot {
		return ErrBlocked
	}
	return err
}

// ParseURL parses the URL of an item's web page. The host is that of a storefront. The path
// ends in -i.{shop_id}.{item_id}, or is /product/{shop_id}/{item_id}. The error is a
// *fetcher.ArgumentError.
func (r *Reader) ParseURL(raw string) (fetcher.ProductQuery, error) {
	refuse := func(allowed string) (fetcher.ProductQuery, error) {
		return fetcher.ProductQuery{}, fmt.Errorf("shopee: %w", &fetcher.ArgumentError{Field: "url", Value: shown(raw), Allowed: allowed})
	}
	u, err := url.Parse(raw)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" {
		return refuse("an item's address, https://shopee.sg/…-i.{shop_id}.{item_id}")
	}
	q := fetcher.ProductQuery{}
	var hosts []string
	for _, code := range slices.Sorted(maps.Keys(r.shops)) {
		host := r.shops[code].Host
		if q.Market == "" && host == plainHost(u.Host) {
			q.Market = code
		}
		if !slices.Contains(hosts, host) {
			hosts = append(hosts, host)
		}
	}
	if q.Market == "" {
		return refuse("the host of a storefront: " + strings.Join(hosts, ", "))
	}
	path := strings.TrimSuffix(u.Path, "/")
	var shopID, itemID string
	if i := strings.LastIndex(path, "-i."); i >= 0 {
		shopID, itemID, _ = strings.Cut(path[i+len("-i."):], ".")
	} else if rest, ok := strings.CutPrefix(path, "/product/"); ok {
		shopID, itemID, _ = strings.Cut(rest, "/")
	}
	var okShop, okItem bool
	q.ShopID, okShop = parseID(shopID)
	q.ItemID, okItem = parseID(itemID)
	if !okShop || !okItem {
		return refuse("a path that ends in -i.{shop_id}.{item_id}")
	}
	return q, nil
}

// shown returns the beginning of an address for use in an error. It returns "***" for an
// address with parts that may be secret.
func shown(address string) string {
	if address = strings.ToValidUTF8(address[:min(len(address), 200)], ""); strings.ContainsAny(address, "?#@") {
		return "***"
	}
	return address
}

// parseID parses an id: only digits, above 0.
func parseID(s string) (int64, bool) {
	n, err := strconv.ParseUint(s, 10, 63)
	return int64(n), err == nil && n > 0
}
