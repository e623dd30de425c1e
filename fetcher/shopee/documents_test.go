package shopee

// Documents in the shape of the storefronts' answers, with invented contents.

const shirtDocument = `{
 "error": null, "error_msg": null, "is_indexable": true,
 "data": {
  "itemid": 21448123549, "shopid": 178926468, "userid": 178928742,
  "price_max_before_discount": 2500000, "price_before_discount": 2500000, "price_min_before_discount": 2000000,
  "price_min": 1599000, "price_max": 1999000, "price": 1599000,
  "stock": 1200, "discount": "27%", "historical_sold": 1514, "sold": 214, "show_discount": 27, "raw_discount": 27,
  "name": "Cotton Shirt – Unisex", "ctime": 1666316078, "item_status": "normal", "status": 1, "catid": 100014,
  "description": "100% cotton.\nWash cold.", "brand": "Loomcraft",
  "item_rating": {"rating_star": 4.537993920972644, "rating_count": [329, 8, 8, 21, 54, 238], "rcount_with_context": 117, "rcount_with_image": 44},
  "attributes": [{"name": "Material", "value": "Cotton", "id": 1, "is_timestamp": false}, {"name": "Season", "value": "Summer"}],
  "liked": false, "liked_count": 162, "cmt_count": 329, "view_count": 9001,
  "tier_variations": [{"name": "Colour", "options": ["Black", "White"], "images": ["k1", "k2"]}, {"name": "Size", "options": ["M", "L"], "images": null}],
  "images": ["sg-11134201-22100-aaaaaaaaaaaaa1", "sg-11134201-22100-aaaaaaaaaaaaa2"], "image": "sg-11134201-22100-aaaaaaaaaaaaa1",
  "is_official_shop": true, "shop_location": "Singapore", "currency": "SGD",
  "categories": [{"catid": 100011, "display_name": "Men Clothes", "no_sub": false}, {"catid": 100047, "display_name": "Tops"}],
  "models": [
   {"itemid": 21448123549, "status": 1, "name": "Black,M", "price": 1599000, "price_before_discount": 2000000, "stock": 700, "modelid": 166598625985, "sold": 100},
   {"itemid": 21448123549, "status": 1, "name": "White,L", "price": 1999000, "stock": 500, "modelid": 166598625986}
  ]
 }
}`

// bareDocument has the fewest fields an item can have.
const bareDocument = `{"error": 0, "data": {"itemid": 2, "shopid": 1, "name": "Pen", "price": 150000}}`

const (
	blockedDocument = `{"is_customized": false, "is_login": false, "action_type": 2, "error": 90309999, "tracking_id": "fa3814fa-694b-40ed-b19c-a74c78223638"}`
	deletedDocument = `{"error": 4, "error_msg": null, "data": null}`
	captchaPage     = "<!DOCTYPE html>\n<html><head><title>Verify</title></head><body><div id=\"captcha\"></div></body></html>"
)
