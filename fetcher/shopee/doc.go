// Package shopee reads items of the Shopee marketplace. It implements
// fetcher.ProductReader with the public item document of the storefronts.
//
//	r, err := shopee.New(shopee.Config{})
//	q, err := r.ParseURL("https://shopee.sg/Cotton-Shirt-i.178926468.21448123549")
//	detail, err := r.Product(ctx, q) // detail.Product.Price is in SGD
//
// # The request and its answer
//
// Each call makes one request: GET /api/v4/item/get?itemid=…&shopid=… on the storefront's host.
// The answer is the document {"error", "error_msg", "data"}, where data is the item. The item's
// fields are not documented. They are known from public programs that read them. So a field
// that is missing, null or of a wrong type is left empty in the record. Only the ids, a name
// and a price are required.
//
//   - Prices are integers in 1/100,000 of the currency's unit. A price before the
//     discount of -1 or 0 means "none".
//   - item_rating.rating_count is the total, then the counts of 1 to 5 stars.
//   - images are keys. Storefront.ImageURL followed by a key is the image's URL.
//   - ctime is in Unix seconds.
//
// Lists of the record are never nil, and encode as [].
//
// # What to expect of the storefronts
//
// Storefronts send an anti-bot answer (status 403 or 418, error 90309999, or a captcha page) to
// a client that is not a browser with a session. For such an answer this package returns
// ErrBlocked. It does not try to get around the check. If you have an agreement with the
// marketplace, set Config.HTTP to a client that adds the agreed headers, or Storefront.BaseURL
// to your own gateway. Storefront.Host remains the host in the URLs of items.
package shopee
