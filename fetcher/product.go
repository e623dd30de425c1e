package fetcher

// ProductDetail is a marketplace item and the storefront it was read from.
type ProductDetail struct {
	Market  string  `json:"market"` // storefront code, such as "sg"
	Product Product `json:"product"`
}

// Product is a marketplace item. Prices are in units of Currency, already
// divided by the marketplace's 1e5 scale.
type Product struct {
	ItemID              int64              `json:"item_id"`
	ShopID              int64              `json:"shop_id"`
	Name                string             `json:"name"`
	Price               float64            `json:"price"`
	PriceMin            float64            `json:"price_min"` // lowest variant
	PriceMax            float64            `json:"price_max"` // highest variant
	PriceBeforeDiscount *float64           `json:"price_before_discount"`
	Discount            *string            `json:"discount"` // label
	Currency            string             `json:"currency"` // ISO 4217
	RatingStar          float64            `json:"rating_star"`
	RatingCountTotal    int64              `json:"rating_count_total"`
	Rating              map[string]int64   `json:"rating"` // counts keyed "5" to "1"
	Stock               int64              `json:"stock"`
	Sold                int64              `json:"sold"`            // recent units
	HistoricalSold      int64              `json:"historical_sold"` // all-time units
	LikedCount          int64              `json:"liked_count"`
	CommentCount        int64              `json:"comment_count"`
	ViewCount           int64              `json:"view_count"`
	Image               string             `json:"image"`
	Images              []string           `json:"images"`
	Description         string             `json:"description"`
	Brand               *string            `json:"brand"`
	Categories          []string           `json:"categories"`
	Attributes          []ProductAttribute `json:"attributes"`
	Models              []ProductModel     `json:"models"`
	TierVariations      []TierVariation    `json:"tier_variations"`
	ShopLocation        string             `json:"shop_location"`
	IsOfficialShop      bool               `json:"is_official_shop"`
	ItemStatus          string             `json:"item_status"` // such as "normal"
	CTimeUTC            int64              `json:"ctime_utc"`   // Unix seconds
	CreatedAt           string             `json:"created_at"`  // ISO 8601 UTC
}

// ProductAttribute is one row of an item's specification.
type ProductAttribute struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// ProductModel is one variant that can be bought.
type ProductModel struct {
	ModelID int64   `json:"model_id"`
	Name    string  `json:"name"`
	Price   float64 `json:"price"`
	Stock   int64   `json:"stock"`
}

// TierVariation is one axis of variation, such as colour.
type TierVariation struct {
	Name    string   `json:"name"`
	Options []string `json:"options"`
}
