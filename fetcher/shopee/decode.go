package shopee

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/streamwatch/streamwatch/fetcher"
)

const (
	errorNotFound = 4            // the error of an item that does not exist
	errorBlocked  = 90309999     // the error of the anti-bot check
	itemDeleted   = 0            // a value of the field status, for items without item_status
	maxCTime      = 253402300799 // the last second of the year 9999
)

// answer is the envelope of every document.
type answer struct {
	Error    value           `json:"error"`
	ErrorMsg value           `json:"error_msg"`
	Tracking value           `json:"tracking_id"` // only in answers of the anti-bot check
	Data     json.RawMessage `json:"data"`
}

// item is the part of a document's data that is used.
type item struct {
	ItemID              value   `json:"itemid"`
	ShopID              value   `json:"shopid"`
	Name                value   `json:"name"`
	Price               value   `json:"price"`
	PriceMin            value   `json:"price_min"`
	PriceMax            value   `json:"price_max"`
	PriceBeforeDiscount value   `json:"price_before_discount"`
	Discount            value   `json:"discount"`
	RawDiscount         value   `json:"raw_discount"`
	Currency            value   `json:"currency"`
	Rating              rating  `json:"item_rating"`
	Stock               value   `json:"stock"`
	Sold                value   `json:"sold"`
	HistoricalSold      value   `json:"historical_sold"`
	LikedCount          value   `json:"liked_count"`
	CommentCount        value   `json:"cmt_count"`
	ViewCount           value   `json:"view_count"`
	Image               value   `json:"image"`
	Images              values  `json:"images"`
	Description         value   `json:"description"`
	Brand               value   `json:"brand"`
	Categories          records `json:"categories"`
	Attributes          records `json:"attributes"`
	Models              records `json:"models"`
	TierVariations      records `json:"tier_variations"`
	ShopLocation        value   `json:"shop_location"`
	IsOfficialShop      value   `json:"is_official_shop"`
	ItemStatus          value   `json:"item_status"`
	Status              value   `json:"status"`
	CTime               value   `json:"ctime"`
}

// decode reads the document of the item that q asks for.
func decode(body []byte, q fetcher.ProductQuery, front Storefront) (fetcher.Product, error) {
	var a answer
	if err := json.Unmarshal(body, &a); err != nil {
		if isCaptcha(body) {
			return fetcher.Product{}, ErrBlocked
		}
		return fetcher.Product{}, fmt.Errorf("%w: no JSON document", fetcher.ErrMalformed)
	}
	code := a.Error.integer()
	switch {
	case code == errorBlocked, code != 0 && a.Tracking.text() != "":
		return fetcher.Product{}, ErrBlocked
	case code == errorNotFound:
		return fetcher.Product{}, fetcher.ErrNotFound
	case code != 0:
		return fetcher.Product{}, fmt.Errorf("error %d: %q", code, cut(a.ErrorMsg.text(), 200))
	case a.Data == nil:
		return fetcher.Product{}, fmt.Errorf("%w: a document without data", fetcher.ErrMalformed)
	case string(a.Data) == "null":
		return fetcher.Product{}, fetcher.ErrNotFound
	}
	var it item
	if err := json.Unmarshal(a.Data, &it); err != nil {
		return fetcher.Product{}, fmt.Errorf("%w: data is no item", fetcher.ErrMalformed)
	}
	switch {
	case it.ItemID.integer() != q.ItemID || it.ShopID.integer() != q.ShopID:
		return fetcher.Product{}, fmt.Errorf("%w: the document is of item %d of shop %d", fetcher.ErrMalformed, it.ItemID.integer(), it.ShopID.integer())
	case it.gone():
		return fetcher.Product{}, fetcher.ErrNotFound
	case it.Name.text() == "" || it.Price.price() <= 0 && it.PriceMin.price() <= 0:
		return fetcher.Product{}, fmt.Errorf("%w: an item without name or price", fetcher.ErrMalformed)
	}
	return it.product(front), nil
}

// gone reports whether the item is not shown to anybody any more.
func (it *item) gone() bool {
	switch strings.ToLower(it.ItemStatus.text()) {
	case "deleted", "seller_delete", "shopee_delete", "banned", "invalid":
		return true
	case "":
		return len(it.Status) > 0 && it.Status.isNumber() && it.Status.integer() == itemDeleted
	}
	return false
}

func (it *item) product(front Storefront) fetcher.Product {
	p := fetcher.Product{
		ItemID:              it.ItemID.integer(),
		ShopID:              it.ShopID.integer(),
		Name:                it.Name.text(),
		Price:               it.Price.price(),
		PriceMin:            it.PriceMin.price(),
		PriceMax:            it.PriceMax.price(),
		PriceBeforeDiscount: positive(it.PriceBeforeDiscount.price()),
		Discount:            filled(it.discount()),
		Currency:            it.Currency.text(),
		RatingStar:          it.Rating.Star.star(),
		Stock:               it.Stock.count(),
		Sold:                it.Sold.count(),
		HistoricalSold:      it.HistoricalSold.count(),
		LikedCount:          it.LikedCount.count(),
		CommentCount:        it.CommentCount.count(),
		ViewCount:           it.ViewCount.count(),
		Image:               imageURL(it.Image.text(), front),
		Images:              []string{},
		Description:         it.Description.text(),
		Brand:               filled(it.Brand.text()),
		Categories:          []string{},
		Attributes:          []fetcher.ProductAttribute{},
		Models:              []fetcher.ProductModel{},
		TierVariations:      []fetcher.TierVariation{},
		ShopLocation:        it.ShopLocation.text(),
		IsOfficialShop:      string(it.IsOfficialShop) == "true",
		ItemStatus:          it.ItemStatus.text(),
	}
	if p.Price == 0 {
		p.Price = p.PriceMin
	}
	if p.PriceMin == 0 {
		p.PriceMin = p.Price
	}
	if p.PriceMax < p.PriceMin {
		p.PriceMax = max(p.Price, p.PriceMin)
	}
	if !isCurrency(p.Currency) {
		p.Currency = front.Currency
	}
	if p.ItemStatus == "" {
		p.ItemStatus = "normal"
	}
	p.RatingCountTotal, p.Rating = it.Rating.counts()
	for _, key := range it.Images {
		if u := imageURL(key.text(), front); u != "" {
			p.Images = append(p.Images, u)
		}
	}
	if p.Image == "" && len(p.Images) > 0 {
		p.Image = p.Images[0]
	}
	for _, c := range it.Categories {
		if name := c["display_name"].text(); name != "" {
			p.Categories = append(p.Categories, name)
		}
	}
	for _, a := range it.Attributes {
		if name := a["name"].text(); name != "" {
			p.Attributes = append(p.Attributes, fetcher.ProductAttribute{Name: name, Value: a["value"].text()})
		}
	}
	for _, m := range it.Models {
		id := max(m["modelid"].count(), m["model_id"].count())
		if id == 0 {
			continue
		}
		p.Models = append(p.Models, fetcher.ProductModel{ModelID: id, Name: m["name"].text(), Price: m["price"].price(), Stock: m["stock"].count()})
	}
	for _, t := range it.TierVariations {
		p.TierVariations = append(p.TierVariations, fetcher.TierVariation{Name: t["name"].text(), Options: t["options"].texts()})
	}
	if s := it.CTime.count(); s > 0 && s <= maxCTime {
		p.CTimeUTC, p.CreatedAt = s, time.Unix(s, 0).UTC().Format(time.RFC3339)
	}
	return p
}

// discount returns the label of the document, or one made of the percentage.
func (it *item) discount() string {
	if label := it.Discount.text(); label != "" && label != "0%" {
		return label
	}
	if n := it.RawDiscount.count(); n > 0 && n <= 100 {
		return strconv.FormatInt(n, 10) + "%"
	}
	return ""
}

// imageURL returns the URL of an image from its key, or from a URL in place of one.
func imageURL(key string, front Storefront) string {
	switch {
	case key == "":
		return ""
	case strings.Contains(key, "://"):
		if isWebURL(key) {
			return key
		}
		return ""
	}
	return front.ImageURL + url.PathEscape(key)
}

// isCaptcha reports whether a body is a captcha page in place of a document.
func isCaptcha(body []byte) bool {
	head := bytes.ToLower(bytes.TrimSpace(body[:min(len(body), 64<<10)]))
	return bytes.HasPrefix(head, []byte("<")) &&
		(bytes.Contains(head, []byte("captcha")) || bytes.Contains(head, []byte("/verify/")))
}

// cut shortens s to at most n bytes, between two characters.
func cut(s string, n int) string { return strings.ToValidUTF8(s[:min(len(s), n)], "") }
