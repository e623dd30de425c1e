package shopee

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/streamwatch/streamwatch/fetcher"
)

const (
	errorNotFound = 4            // answer.Error if the item does not exist
	errorBlocked  = 90309999     // the error of the anti-bot check
	itemDeleted   = 0            // value of status, which is used if item_status is missing
	maxCTime      = 253402300799 // the last second of the year 9999
)

// answer is the outer object of every document. A member of a wrong type is left empty.
type answer struct {
	Error    int64           `json:"error"`
	ErrorMsg string          `json:"error_msg"`
	Tracking string          `json:"tracking_id"` // only in answers of the anti-bot check
	Data     json.RawMessage `json:"data"`
}

// item has the members of a document's data that are used.
type item struct {
	ItemID              int64  `json:"itemid"`
	ShopID              int64  `json:"shopid"`
	Name                string `json:"name"`
	Price               price  `json:"price"`
	PriceMin            price  `json:"price_min"`
	PriceMax            price  `json:"price_max"`
	PriceBeforeDiscount price  `json:"price_before_discount"`
	Discount            string `json:"discount"`
	RawDiscount         int64  `json:"raw_discount"`
	Currency            string `json:"currency"`
	Rating              struct {
		Star  float64 `json:"rating_star"`
		Count []int64 `json:"rating_count"` // the total, then those of 1 to 5 stars
	} `json:"item_rating"`
	Stock          int64    `json:"stock"`
	Sold           int64    `json:"sold"`
	HistoricalSold int64    `json:"historical_sold"`
	LikedCount     int64    `json:"liked_count"`
	CommentCount   int64    `json:"cmt_count"`
	ViewCount      int64    `json:"view_count"`
	Image          string   `json:"image"`
	Images         []string `json:"images"`
	Description    string   `json:"description"`
	Brand          string   `json:"brand"`
	Categories     []struct {
		Name string `json:"display_name"`
	} `json:"categories"`
	Attributes []struct {
		Name  string `json:"name"`
		Value string `json:"value"`
	} `json:"attributes"`
	Models []struct {
		ID    int64  `json:"modelid"`
		Name  string `json:"name"`
		Price price  `json:"price"`
		Stock int64  `json:"stock"`
	} `json:"models"`
	TierVariations []struct {
		Name    string   `json:"name"`
		Options []string `json:"options"`
	} `json:"tier_variations"`
	ShopLocation   string `json:"shop_location"`
	IsOfficialShop bool   `json:"is_official_shop"`
	ItemStatus     string `json:"item_status"`
	Status         *int64 `json:"status"`
	CTime          int64  `json:"ctime"`
}

// price is an amount in 1/100,000 of the currency's unit. 0 or less means that there is none.
type price int64

func (p price) units() float64 { return max(float64(p)/1e5, 0) }

// decode parses a document. If it is not the document of the item q, the error is ErrMalformed.
func decode(body []byte, q fetcher.ProductQuery, front Storefront) (fetcher.Product, error) {
	var a answer
	if err := json.Unmarshal(body, &a); badSyntax(err) {
		if isCaptcha(body) {
			return fetcher.Product{}, ErrBlocked
		}
		return fetcher.Product{}, fmt.Errorf("%w: no JSON document", fetcher.ErrMalformed)
	}
	switch {
	case a.Error == errorBlocked, a.Error != 0 && a.Tracking != "":
		return fetcher.Product{}, ErrBlocked
	case a.Error == errorNotFound:
		return fetcher.Product{}, fetcher.ErrNotFound
	case a.Error != 0:
		return fetcher.Product{}, fmt.Errorf("error %d: %q", a.Error, cut(a.ErrorMsg, 200))
	case a.Data == nil:
		return fetcher.Product{}, fmt.Errorf("%w: a document without data", fetcher.ErrMalformed)
	case string(a.Data) == "null":
		return fetcher.Product{}, fetcher.ErrNotFound
	}
	var it item
	_ = json.Unmarshal(a.Data, &it) // the syntax is valid; if Data is not an item, it stays empty
	switch {
	case it.ItemID != q.ItemID || it.ShopID != q.ShopID:
		return fetcher.Product{}, fmt.Errorf("%w: the document is of item %d of shop %d", fetcher.ErrMalformed, it.ItemID, it.ShopID)
	case it.gone():
		return fetcher.Product{}, fetcher.ErrNotFound
	case it.Name == "" || it.Price <= 0 && it.PriceMin <= 0:
		return fetcher.Product{}, fmt.Errorf("%w: an item without name or price", fetcher.ErrMalformed)
	}
	return it.product(front), nil
}

// badSyntax reports whether err is a decoding error other than a member of a wrong type.
func badSyntax(err error) bool {
	var odd *json.UnmarshalTypeError
	return err != nil && !errors.As(err, &odd)
}

// gone reports whether the item was deleted or banned.
func (it *item) gone() bool {
	switch strings.ToLower(it.ItemStatus) {
	case "deleted", "seller_delete", "shopee_delete", "banned", "invalid":
		return true
	case "":
		return it.Status != nil && *it.Status == itemDeleted
	}
	return false
}

func (it *item) product(front Storefront) fetcher.Product {
	p := fetcher.Product{
		ItemID:              it.ItemID,
		ShopID:              it.ShopID,
		Name:                it.Name,
		Price:               it.Price.units(),
		PriceMin:            it.PriceMin.units(),
		PriceMax:            it.PriceMax.units(),
		PriceBeforeDiscount: positive(it.PriceBeforeDiscount.units()),
		Discount:            filled(it.discount()),
		Currency:            it.Currency,
		RatingStar:          min(max(it.Rating.Star, 0), 5),
		Stock:               max(it.Stock, 0),
		Sold:                max(it.Sold, 0),
		HistoricalSold:      max(it.HistoricalSold, 0),
		LikedCount:          max(it.LikedCount, 0),
		CommentCount:        max(it.CommentCount, 0),
		ViewCount:           max(it.ViewCount, 0),
		Image:               imageURL(it.Image, front),
		Images:              []string{},
		Description:         it.Description,
		Brand:               filled(it.Brand),
		Categories:          []string{},
		Attributes:          []fetcher.ProductAttribute{},
		Models:              []fetcher.ProductModel{},
		TierVariations:      []fetcher.TierVariation{},
		ShopLocation:        it.ShopLocation,
		IsOfficialShop:      it.IsOfficialShop,
		ItemStatus:          it.ItemStatus,
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
	p.RatingCountTotal, p.Rating = it.ratings()
	for _, key := range it.Images {
		if u := imageURL(key, front); u != "" {
			p.Images = append(p.Images, u)
		}
	}
	if p.Image == "" && len(p.Images) > 0 {
		p.Image = p.Images[0]
	}
	for _, c := range it.Categories {
		if c.Name != "" {
			p.Categories = append(p.Categories, c.Name)
		}
	}
	for _, a := range it.Attributes {
		if a.Name != "" {
			p.Attributes = append(p.Attributes, fetcher.ProductAttribute{Name: a.Name, Value: a.Value})
		}
	}
	for _, m := range it.Models {
		if m.ID > 0 {
			p.Models = append(p.Models, fetcher.ProductModel{ModelID: m.ID, Name: m.Name, Price: m.Price.units(), Stock: max(m.Stock, 0)})
		}
	}
	for _, t := range it.TierVariations {
		p.TierVariations = append(p.TierVariations, fetcher.TierVariation{Name: t.Name, Options: append([]string{}, t.Options...)})
	}
	if s := it.CTime; s > 0 && s <= maxCTime {
		p.CTimeUTC, p.CreatedAt = s, time.Unix(s, 0).UTC().Format(time.RFC3339)
	}
	return p
}

// discount returns the discount's label or, if there is none, one made from the percentage.
func (it *item) discount() string {
	if label := it.Discount; label != "" && label != "0%" {
		return label
	}
	if n := it.RawDiscount; n > 0 && n <= 100 {
		return strconv.FormatInt(n, 10) + "%"
	}
	return ""
}

// ratings returns the number of ratings, in total and by stars, "1" to "5".
func (it *item) ratings() (total int64, byStars map[string]int64) {
	byStars = map[string]int64{"1": 0, "2": 0, "3": 0, "4": 0, "5": 0}
	for stars, n := range it.Rating.Count[:min(len(it.Rating.Count), 6)] {
		if stars == 0 {
			total = max(n, 0)
		} else {
			byStars[strconv.Itoa(stars)] = max(n, 0)
		}
	}
	return total, byStars
}

// imageURL returns the URL of an image. key is the image's key, or a URL.
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

// isCaptcha reports whether a body is a captcha page instead of a document.
func isCaptcha(body []byte) bool {
	head := bytes.ToLower(bytes.TrimSpace(body[:min(len(body), 64<<10)]))
	return bytes.HasPrefix(head, []byte("<")) &&
		(bytes.Contains(head, []byte("captcha")) || bytes.Contains(head, []byte("/verify/")))
}

// cut shortens s to at most n bytes, between two characters.
func cut(s string, n int) string { return strings.ToValidUTF8(s[:min(len(s), n)], "") }

// positive returns a pointer to f, or nil if f is not greater than 0.
func positive(f float64) *float64 {
	if f <= 0 {
		return nil
	}
	return &f
}

// filled returns a pointer to s, or nil if s is "".
func filled(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}
