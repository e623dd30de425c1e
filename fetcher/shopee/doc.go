// Package shopee reads items of the Shopee marketplace: it is a
// fetcher.ProductReader on the public item document of its storefronts.
//
//	r, err := shopee.New(shopee.Config{})
//	q, err := r.ParseURL("https://shopee.sg/Cotton-Shirt-i.178926468.21448123549")
//	detail, err := r.Product(ctx, q) // detail.Product.Price is in SGD
//
// # The request and its answer
//
// GET /api/v4/item/get?itemid=…&shopid=… on the storefront's host, one request
// per call. The document is {"error", "error_msg", "data"}, data the item. Its
// fields are known from public programs that read it; there is no contract.
// Decoding is lenient for that reason: a field that is missing, null or of another type
// is empty in the record; only the ids, a name and a price are required.
//
//   - Prices are integers of 1/100,000 of the currency's unit. -1 and 0 stand
//     for "none" before a discount.
//   - item_rating.rating_count is the total, then the counts of 1 to 5 stars.
//   - images are keys, made to URLs with Storefront.ImageURL.
//   - ctime is in Unix seconds.
//
// Lists of the record are never nil, so that they encode as [].
//
// # What to expect of the storefronts
//
// They protect the document: a client that is not a browser with a session gets an
// anti-bot answer (status 403 or 418, error 90309999, or a captcha page), which is
// ErrBlocked here. This package does not try to get around it. A program with an
// arrangement with the marketplace sets Config.HTTP, whose transport can add what is
// agreed, or Storefront.BaseURL to a gateway of its own: Storefront.Host stays that of
// the items' addresses.
package shopee
