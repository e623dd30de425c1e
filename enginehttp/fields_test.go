package enginehttp_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/streamwatch/streamwatch/enginehttp"
)

const (
	monitors = social + "/stream/monitors"
	webhooks = social + "/stream/webhooks"
	rules    = social + "/stream/filter-rules"
)

var long = strings.Repeat("x", 300)

// badFields are requests with a value that is not allowed.
var badFields = []struct {
	method, path, body string
	status             int
	text               string // of the answer; begins with the field's name if it is about one
}{
	// The JSON itself.
	{"POST", monitors, `{`, 400, "malformed request body: it is not JSON"},
	{"POST", monitors, `[]`, 400, "malformed request body: want one JSON object"},
	{"POST", monitors, `null`, 400, "malformed request body: want one JSON object"},
	{"POST", monitors, `{} {}`, 400, "malformed request body: it is not JSON"},
	{"POST", monitors, "{\"name\":\"\xff\"}", 400, "malformed request body: it is not UTF-8"},
	{"POST", monitors, `{"name":"a","name":"b"}`, 400, `field \"name\" is there twice`},
	{"POST", monitors, strings.Repeat("[", 65), 400, "nested too deep: want at most 64 levels"},
	{"POST", monitors, `{"a":` + strings.Repeat(" ", 1<<20) + `1}`, 413, "request body too large: want at most 1 MiB"},
	{"POST", monitors, `{"owner":"rival"}`, 422, `field \"owner\" is not allowed: want none but name, usernames,`},
	{"POST", monitors, `{"Name":"a"}`, 422, `field \"Name\" is not allowed`},

	{"POST", monitors, `{"usernames":["nasa"]}`, 422, "name is missing: want 1 to 100 characters"},
	{"POST", monitors, `{"name":5,"usernames":["nasa"]}`, 422, "name 5 is not allowed: want a string"},
	{"POST", monitors, `{"name":"` + long + `","usernames":["nasa"]}`, 422, "is not allowed: want 1 to 100 printable characters"},
	{"POST", monitors, `{"name":"a"}`, 422, "usernames is missing: want a list of strings"},
	{"POST", monitors, `{"name":"a","usernames":null}`, 422, "usernames null is not allowed"},
	{"POST", monitors, `{"name":"a","usernames":[null]}`, 422, "usernames [null] is not allowed"},
	{"POST", monitors, `{"name":"a","usernames":[]}`, 422, "usernames \\\"[]\\\" is not allowed: want 1 to 100 accounts"},
	{"POST", monitors, `{"name":"a","usernames":["a b"]}`, 422, "usernames \\\"a b\\\" is not allowed: want handles"},
	{"POST", monitors, `{"name":"a","usernames":["nasa"],"filter_types":["likes"]}`, 422, "filter_types \\\"likes\\\" is not allowed: want a subset of"},
	{"POST", monitors, `{"name":"a","usernames":["nasa"],"filter_types":"reply"}`, 422, "filter_types \\\"reply\\\" is not allowed: want a list of strings"},
	{"POST", monitors, `{"name":"a","usernames":["nasa"],"poll_interval_seconds":0.5}`, 422, "poll_interval_seconds \\\"0.5\\\" is not allowed: want 1 to 86400"},
	{"POST", monitors, `{"name":"a","usernames":["nasa"],"poll_interval_seconds":1e300}`, 422, "poll_interval_seconds"},
	{"POST", monitors, `{"name":"a","usernames":["nasa"],"poll_interval_seconds":-1e300}`, 422, "poll_interval_seconds"},
	{"POST", monitors, `{"name":"a","usernames":["nasa"],"poll_interval_seconds":1e-12}`, 422, "poll_interval_seconds"},
	{"POST", monitors, `{"name":"a","usernames":["nasa"],"poll_interval_seconds":"1"}`, 422, "want a number"},
	{"POST", monitors, `{"name":"a","usernames":["nasa"],"webhook_url":"http://10.0.0.1/"}`, 422, "webhook_url "},
	{"POST", monitors, `{"name":"a","usernames":["nasa"],"webhook_url":"https://hooks.example.com/","webhook_secret":"tooshort"}`, 422, "webhook_secret \\\"***\\\" is not allowed: want 24 to 128"},
	{"POST", monitors, `{"name":"a","usernames":["nasa"],"webhook_secret":["sesame"]}`, 422, "webhook_secret *** is not allowed: want a string"},
	{"POST", monitors, `{"name":"space","usernames":["nasa"]}`, 409, "a monitor of this name exists already"},
	{"PATCH", monitors + "/{monitor}", `{"status":"deleted"}`, 422, "status \\\"deleted\\\" is not allowed: want \\\"active\\\" or \\\"paused\\\""},
	{"PATCH", monitors + "/{monitor}", `{"name":null}`, 422, "name null is not allowed"},
	{"PATCH", monitors + "/{monitor}", `{"webhook_secret":"short"}`, 422, "webhook_secret \\\"***\\\""},
	{"PATCH", monitors + "/{monitor}", `{"credits":1}`, 422, `field \"credits\" is not allowed`},
	{"PATCH", monitors + "/{monitor}", `{"usernames":["a b"]}`, 422, "usernames \\\"a b\\\" is not allowed: want handles"},
	{"PATCH", monitors + "/{monitor}", `{"usernames":null}`, 422, "usernames null is not allowed"},
	{"PATCH", monitors + "/{monitor}", `{"filter_types":["likes"]}`, 422, "filter_types \\\"likes\\\" is not allowed: want a subset of"},
	{"PATCH", monitors + "/{monitor}", `{"poll_interval_seconds":86401}`, 422, "poll_interval_seconds \\\"86401\\\" is not allowed: want 1 to 86400"},
	{"PATCH", monitors + "/{monitor}", `{"webhook_url":"http://10.0.0.1/"}`, 422, "webhook_url "},

	{"GET", monitors + "?page=0", "", 422, "page \\\"0\\\" is not allowed: want 1 to 1000000000"},
	{"GET", monitors + "?page=x", "", 422, "page \\\"x\\\" is not allowed"},
	{"GET", monitors + "?page_size=101", "", 422, "page_size \\\"101\\\" is not allowed: want 1 to 100"},
	{"GET", monitors + "?status=gone", "", 422, "status \\\"gone\\\" is not allowed: want active, paused"},
	{"GET", monitors + "?status=", "", 422, "status \\\"\\\" is not allowed: want active, paused"},

	{"POST", webhooks, `{"url":"https://hooks.example.com/"}`, 422, "monitor_id \\\"\\\" is not allowed: want the id of a monitor, or a rule_id in its place"},
	{"POST", webhooks, `{"monitor_id":"{monitor}","rule_id":"r","url":"https://hooks.example.com/"}`, 422, "or a rule_id in its place"},
	{"POST", webhooks, `{"rule_id":7,"url":"https://hooks.example.com/"}`, 422, "rule_id 7 is not allowed: want a string"},
	{"POST", webhooks, `{"monitor_id":"{monitor}"}`, 422, "url is missing"},
	{"POST", webhooks, `{"monitor_id":"{monitor}","url":"ftp://hooks.example.com/"}`, 422, "url \\\"ftp"},
	{"POST", webhooks, `{"monitor_id":"{monitor}","url":"https://hooks.example.com/","secret":"short"}`, 422, "secret \\\"***\\\" is not allowed: want 24 to 128"},
	{"POST", webhooks, `{"monitor_id":"{monitor}","url":"https://hooks.example.com/acme"}`, 409, "has a webhook of this URL already"},
	{"POST", webhooks + "/test", `{}`, 422, "monitor_id is missing: want the id of a monitor"},
	{"POST", webhooks + "/{webhook}/rotate", `{"grace_seconds":-1}`, 422, "grace_seconds -1 is not allowed: want a whole number of 0 to 604800"},
	{"POST", webhooks + "/{webhook}/rotate", `{"grace_seconds":604801}`, 422, "grace_seconds 604801 is not allowed: want a whole number of 0 to 604800"},
	{"POST", webhooks + "/{webhook}/rotate", `{"grace_seconds":1.5}`, 422, "grace_seconds 1.5 is not allowed: want a whole number of 0 to 604800"},
	{"POST", webhooks + "/{webhook}/rotate", `{"grace_seconds":null}`, 422, "grace_seconds null is not allowed: want a whole number of 0 to 604800"},
	{"PATCH", webhooks + "/{webhook}", `{"url":"http://10.0.0.1/"}`, 422, "url \\\"http"},
	{"PATCH", webhooks + "/{webhook}", `{"headers":{"Authorization":"Bearer canary","X-A":null}}`, 422, "headers *** is not allowed: want an object of header names"},
	{"PATCH", webhooks + "/{webhook}", `{"headers":{"Authorization":7}}`, 422, "headers *** is not allowed: want an object of header names"},
	{"PATCH", webhooks + "/{webhook}", `{"headers":"Authorization: Bearer canary"}`, 422, "headers *** is not allowed: want an object of header names"},
	{"PATCH", webhooks + "/{webhook}", `{"headers":{"Host":"x"}}`, 422, "header"},
	{"PATCH", webhooks + "/{webhook}", `{"paused":"yes"}`, 422, "paused \\\"yes\\\" is not allowed: want true or false"},
	{"POST", webhooks + "/{webhook}/replay", `{}`, 422, "since is missing: want an ISO 8601 time"},
	{"POST", webhooks + "/{webhook}/replay", `{"since":"yesterday"}`, 422, "since \\\"yesterday\\\" is not allowed: want an ISO 8601 time"},
	{"POST", webhooks + "/{webhook}/replay", `{"since":"2020-01-01T00:00:00Z","until":"2020-01-01T00:00:00Z"}`, 422, "until \\\"2020-01-01T00:00:00Z\\\" is not allowed: want a time after since"},
	{"POST", webhooks + "/{webhook}/replay", `{"since":"3020-01-01T00:00:00Z"}`, 422, "since \\\"3020-01-01T00:00:00Z\\\" is not allowed: want a time that is not in the future"},
	{"POST", webhooks + "/{webhook}/replay", `{"since":7}`, 422, "since 7 is not allowed: want a string"},
	{"POST", webhooks + "/{webhook}/replay", `{"since":"2020-01-01T00:00:00Z","until":"tomorrow"}`, 422, "until \\\"tomorrow\\\" is not allowed: want an ISO 8601 time"},
	{"POST", webhooks, `{"monitor_id":"{monitor}","url":"https://hooks.example.com/x","from":"yesterday"}`, 422, "from \\\"yesterday\\\" is not allowed: want an ISO 8601 time"},
	{"POST", webhooks, `{"monitor_id":"{monitor}","url":"https://hooks.example.com/x","from":"3020-01-01T00:00:00Z"}`, 422, "from \\\"3020-01-01T00:00:00Z\\\" is not allowed: want a time that is not in the future"},
	{"POST", webhooks + "/{webhook}/recover", `{}`, 422, "since is missing: want an ISO 8601 time"},
	{"POST", webhooks + "/{webhook}/recover", `{"since":"yesterday"}`, 422, "since \\\"yesterday\\\" is not allowed: want an ISO 8601 time"},
	{"GET", webhooks + "?monitor_id=a%20b", "", 422, "monitor_id \\\"a b\\\" is not allowed"},

	{"GET", social + "/stream/logs?delivery_status=lost", "", 422, "delivery_status \\\"lost\\\" is not allowed: want pending, webhook_delivered, webhook_retrying, webhook_failed, websocket_delivered, websocket_retrying, websocket_failed, handler_delivered, handler_retrying, handler_failed"},
	{"GET", rules + "/{rule}/logs?since=yesterday", "", 422, "since \\\"yesterday\\\" is not allowed: want an ISO 8601 time"},
	{"GET", rules + "/{rule}/logs?until=", "", 422, "until \\\"\\\" is not allowed: want an ISO 8601 time"},
	{"GET", rules + "/{rule}/logs?since=2026-01-01T00:00:00Z&until=2026-01-01T00:00:00Z", "", 422, "until \\\"2026-01-01T00:00:00Z\\\" is not allowed: want a time after since"},
	{"GET", social + "/stream/logs?since=yesterday", "", 422, "since \\\"yesterday\\\" is not allowed: want an ISO 8601 time"},
	{"GET", social + "/stream/logs?until=", "", 422, "until \\\"\\\" is not allowed: want an ISO 8601 time"},
	{"GET", social + "/stream/logs?since=2026-01-01T00:00:00Z&until=2026-01-01T00:00:00Z", "", 422, "until \\\"2026-01-01T00:00:00Z\\\" is not allowed: want a time after since"},
	{"GET", social + "/stream/billing-logs?since=yesterday", "", 422, "since \\\"yesterday\\\" is not allowed: want an ISO 8601 time"},
	{"GET", social + "/stream/billing-logs?until=", "", 422, "until \\\"\\\" is not allowed: want an ISO 8601 time"},
	{"GET", social + "/stream/billing-logs?since=2026-01-01T00:00:00Z&until=2026-01-01T00:00:00Z", "", 422, "until \\\"2026-01-01T00:00:00Z\\\" is not allowed: want a time after since"},
	{"GET", rules + "/{rule}/logs?cursor=bogus", "", 422, "cursor \\\"bogus\\\" is not allowed: want the next_cursor of an answer to the same question"},
	{"GET", social + "/stream/logs?cursor=bogus", "", 422, "cursor \\\"bogus\\\" is not allowed: want the next_cursor of an answer to the same question"},
	{"GET", social + "/stream/billing-logs?cursor=bogus", "", 422, "cursor \\\"bogus\\\" is not allowed: want the next_cursor of an answer to the same question"},
	{"GET", social + "/stream/logs?sort=up", "", 422, "sort \\\"up\\\" is not allowed: want desc, asc"},
	{"GET", social + "/stream/logs?page=-1", "", 422, "page \\\"-1\\\" is not allowed: want 1 to 1000000000"},
	{"GET", social + "/stream/logs?page_size=1e2", "", 422, "page_size \\\"1e2\\\" is not allowed: want 1 to 100"},
	{"GET", social + "/stream/logs?monitor_id=", "", 422, "monitor_id \\\"\\\" is not allowed"},
	{"GET", social + "/stream/logs?author_username=@", "", 422, "author_username \\\"\\\" is not allowed: want 1 to 253 visible ASCII characters"},
	{"GET", rules + "/{rule}/logs?author_username=%40", "", 422, "author_username \\\"\\\" is not allowed"},
	{"GET", social + "/stream/logs?author_username=a%2Fb", "", 422, "author_username \\\"a/b\\\" is not allowed"},
	{"GET", social + "/stream/billing-logs?sort=", "", 422, "sort"},
	{"GET", social + "/stream/billing-logs?page_size=0", "", 422, "page_size"},
	{"GET", social + "/stream/billing-logs?page=1000000001", "", 422, "page \\\"1000000001\\\""},
	{"GET", social + "/stream/billing-logs?monitor_id=a,b", "", 422, "monitor_id \\\"a,b\\\" is not allowed"},
	{"POST", rules, `{"query":"moon","interval_seconds":5}`, 422, "tag is missing"},
	{"POST", rules, `{"tag":"t","interval_seconds":5}`, 422, "query is missing"},
	{"POST", rules, `{"tag":"` + long + `","query":"moon","interval_seconds":5}`, 422, "tag "},
	{"POST", rules, `{"tag":"t","query":"-moon","interval_seconds":5}`, 422, "query \\\"-moon\\\" is not allowed: want a query of the language: E_ONLY_NEGATED"},
	{"POST", rules, `{"tag":"t","query":"moon"}`, 422, "interval_seconds \\\"0\\\" is not allowed: want 0.1 to 86,400, or a schedule"},
	{"POST", rules, `{"tag":"t","query":"moon","interval_seconds":0.05}`, 422, "interval_seconds \\\"0.05\\\""},
	{"POST", rules, `{"tag":"t","query":"moon","schedule":"every day"}`, 422, "schedule \\\"every day\\\" is not allowed"},
	{"POST", rules, `{"tag":"t","query":"moon","schedule":"@daily","interval_seconds":5}`, 422, "either schedule or interval_seconds, not both"},
	{"POST", rules, `{"tag":"t","query":"moon","interval_seconds":5,"platform":"mars"}`, 422, "platform \\\"mars\\\" is not allowed: want no platform: there is only one"},
	{"POST", rules, `{"tag":"t","query":"moon","interval_seconds":5,"max_results_per_poll":0}`, 422, "max_results_per_poll 0 is not allowed: want 1 to 100"},
	{"POST", rules, `{"tag":"t","query":"moon","interval_seconds":5,"max_results_per_poll":2.5}`, 422, "max_results_per_poll 2.5 is not allowed: want 1 to 100"},
	{"POST", rules, `{"tag":"t","query":"moon","interval_seconds":5,"webhook_url":"http://10.0.0.1/"}`, 422, "webhook_url"},
	{"POST", rules, `{"tag":"t","query":"moon","interval_seconds":5,"webhook_url":"https://hooks.example.com/","webhook_secret":"sesame"}`, 422, "webhook_secret \\\"***\\\" is not allowed: want 24 to 128"},
	{"POST", rules, `{"tag":"moon","query":"moon","interval_seconds":5}`, 409, "a filter rule of this tag exists already"},
	{"PATCH", rules + "/{rule}", `{"status":"off"}`, 422, "status \\\"off\\\" is not allowed"},
	{"PATCH", rules + "/{rule}", `{"total_credits_burned":0}`, 422, "is not allowed: want none but"},
	{"PATCH", rules + "/{rule}", `{"tag":""}`, 422, "tag \\\"\\\" is not allowed"},
	{"PATCH", rules + "/{rule}", `{"query":"(moon"}`, 422, "query \\\"(moon\\\" is not allowed"},
	{"PATCH", rules + "/{rule}", `{"interval_seconds":86401}`, 422, "interval_seconds \\\"86401\\\""},
	{"PATCH", rules + "/{rule}", `{"schedule":"61 * * * *"}`, 422, "schedule \\\"61 * * * *\\\" is not allowed"},
	{"PATCH", rules + "/{rule}", `{"max_results_per_poll":101}`, 422, "max_results_per_poll \\\"101\\\" is not allowed: want 1 to 100"},
	{"PATCH", rules + "/{rule}", `{"webhook_url":"http://10.0.0.1/"}`, 422, "webhook_url "},
	{"PATCH", rules + "/{rule}", `{"webhook_secret":"sesame"}`, 422, "webhook_secret \\\"***\\\""},
	{"GET", rules + "?page_size=0", "", 422, "page_size"},
	{"GET", rules + "?page=0", "", 422, "page \\\"0\\\""},
	{"GET", rules + "?status=off", "", 422, "status \\\"off\\\" is not allowed: want active, paused"},
	{"GET", rules + "/{rule}/logs?sort=up", "", 422, "sort"},
	{"GET", rules + "/{rule}/logs?page=0", "", 422, "page \\\"0\\\""},
	{"GET", rules + "/{rule}/logs?page_size=101", "", 422, "page_size \\\"101\\\""},
	{"GET", social + "/stream/logs?author_username=https://a.example/b%20c", "", 422, "or an address of at most 512 visible ASCII characters"},
	{"GET", social + "/stream/logs?author_username=https://a.example/" + strings.Repeat("a", 500), "", 422, "or an address of at most 512 visible ASCII characters"},
	{"GET", rules + "/{rule}/logs?author_username=%00", "", 422, "author_username "},
	{"GET", rules + "/{rule}/logs?delivery_status=lost", "", 422, "delivery_status \\\"lost\\\" is not allowed: want pending,"},
	{"GET", rules + "?limit=101", "", 422, "limit \\\"101\\\" is not allowed: want 1 to 100"},
	{"GET", rules + "?limit=5&page_size=5", "", 422, "limit \\\"5\\\" is not allowed: want either limit or page_size, not both"},
	{"GET", rules + "?offset=-1", "", 422, "offset \\\"-1\\\" is not allowed: want 0 to 1000000000"},
	{"GET", rules + "?offset=0&page=1", "", 422, "offset \\\"0\\\" is not allowed: want either offset or page, not both"},
	{"GET", rules + "/{rule}/logs?limit=0", "", 422, "limit"},
	{"GET", rules + "/{rule}/logs?offset=x", "", 422, "offset"},
	{"GET", monitors + "?limit=0", "", 422, "limit"},
	{"GET", monitors + "?offset=1000000001", "", 422, "offset"},
	{"GET", social + "/stream/logs?limit=1.5", "", 422, "limit"},
	{"GET", social + "/stream/logs?offset=", "", 422, "offset"},
	{"GET", social + "/stream/logs?webhook_id=a%20b", "", 422, "webhook_id \\\"a b\\\" is not allowed"},
	{"GET", social + "/stream/logs?rule_id=a%20b", "", 422, "rule_id \\\"a b\\\" is not allowed"},
	{"GET", social + "/stream/logs?monitor_id=m&rule_id=r", "", 422, "rule_id \\\"r\\\" is not allowed: want either rule_id or monitor_id, not both"},
	{"GET", social + "/stream/billing-logs?limit=x", "", 422, "limit"},
	{"GET", social + "/stream/billing-logs?offset=x", "", 422, "offset"},
	{"GET", social + "/stream/billing-logs?rule_id=", "", 422, "rule_id"},
	{"GET", webhooks + "?rule_id=,", "", 422, "rule_id"},
	{"GET", webhooks + "?page=0", "", 422, "page"},
	{"GET", webhooks + "?page_size=0", "", 422, "page_size"},
	{"GET", webhooks + "?limit=0", "", 422, "limit"},
	{"GET", webhooks + "?offset=x", "", 422, "offset"},
	{"POST", social + "/stream/filter-rules/validate", `{}`, 422, "query is missing: want a string"},

	{"GET", "/v1/account/keys?page=0", "", 422, "page"},
	{"GET", "/v1/account/keys?page_size=0", "", 422, "page_size"},
	{"GET", "/v1/account/keys?limit=0", "", 422, "limit"},
	{"GET", "/v1/account/keys?offset=x", "", 422, "offset"},
	{"POST", "/v1/account/keys", `{}`, 422, "name is missing: want 1 to 100 characters"},
	{"POST", "/v1/account/keys", `{"name":" "}`, 422, "name \\\" \\\" is not allowed"},
	{"POST", "/v1/account/keys", `{"name":"a\ud800"}`, 422, `name \"a\\ud800\" is not allowed: want a string of whole characters`},
	{"POST", "/v1/account/keys", `{"name":"\uDFFF\ud83d"}`, 422, "of whole characters"},
	{"POST", "/v1/account/keys", `{"name":"a\u202eb"}`, 422, "name \\\"a\\\\u202eb\\\" is not allowed: want 1 to 100 printable characters"},
	{"POST", "/v1/account/keys", `{"name":"a\ufffd"}`, 422, "printable characters"},
	{"POST", monitors, `{"name":"\ud83d","usernames":["nasa"]}`, 422, "of whole characters"},
	{"POST", monitors, `{"name":"\u2066n","usernames":["nasa"]}`, 422, "printable characters"},
	{"POST", monitors, `{"name":"n","usernames":["nasa","\udc00"]}`, 422, "usernames "},
	{"PATCH", monitors + "/{monitor}", `{"name":"\udc00\ud800"}`, 422, "of whole characters"},
	{"POST", rules, `{"tag":"t\u200f","query":"moon","interval_seconds":60}`, 422, "tag "},
	{"POST", rules, `{"tag":"t","query":"moon \uD800\u0041","interval_seconds":60}`, 422, "query "},
	{"POST", webhooks, `{"monitor_id":"{monitor}","url":"https://hooks.example.com/n","secret":"\ud800 sesame 0123456789012345"}`, 422, "secret *** is not allowed: want a string of whole characters"},
	{"PATCH", webhooks + "/{webhook}", `{"headers":{"X-A":"\ud800"}}`, 422, "headers *** is not allowed"},
	{"POST", "/v1/account/keys", `{"name":"n","scope":"root"}`, 422, "scope \\\"root\\\" is not allowed: want read, write or admin"},
	{"POST", "/v1/account/keys", `{"name":"n","expires_at":"tomorrow"}`, 422, "expires_at \\\"tomorrow\\\" is not allowed: want an ISO 8601 time"},
	{"POST", "/v1/account/keys", `{"name":"n","expires_at":"2001-01-01T00:00:00Z"}`, 422, "expires_at \\\"2001-01-01T00:00:00Z\\\" is not allowed: want a time to come"},
	{"POST", "/v1/account/keys", `{"name":"n","tier":"gold"}`, 422, "field \\\"tier\\\" is not allowed: want none but name, scope, expires_at"},

	{"GET", social + "/users/a%20b/by_username", "", 422, "username \\\"a b\\\" is not allowed"},
	{"GET", social + "/users/" + long + "/by_id", "", 422, "user_id"},
	{"GET", social + "/users/" + long + "/latest_tweets", "", 422, "username"},
	{"GET", social + "/users/nasa/latest_tweets?cursor=c2Vjb25k", "", 422, "cursor"},
	{"GET", social + "/users/batch_by_ids", "", 422, "user_ids \\\"\\\" is not allowed: want 1 to 100 ids"},
	{"GET", social + "/users/batch_by_ids?user_ids=1,,2", "", 422, "user_ids"},
	{"GET", social + "/users/batch_by_ids?user_ids=1" + strings.Repeat(",1", 100), "", 422, "want 1 to 100 ids, separated by commas"},
	{"GET", social + "/tweets/?tweets=a%0Ab", "", 422, "tweets"},
	{"GET", social + "/tweets", "", 422, "tweets \\\"\\\" is not allowed: want 1 to 100 ids"},
	{"GET", social + "/tweets/tweet/%20", "", 422, "tweet_id"},
	{"GET", social + "/tweets/advanced_search", "", 422, "query \\\"\\\" is not allowed: want 1 to 1,024 printable characters"},
	{"GET", social + "/tweets/advanced_search?query=%20", "", 422, "query"},
	{"GET", social + "/tweets/advanced_search?query=x&query_type=Best", "", 422, "query_type \\\"Best\\\" is not allowed: want Latest, Top, Media"},
	{"GET", social + "/tweets/advanced_search?query=x&count=0", "", 422, "count"},
	{"GET", social + "/tweets/advanced_search?query=x&cursor=c2Vjb25k", "", 422, "cursor"},
	{"GET", social + "/communities/1/tweets?tweet_type=top", "", 422, "tweet_type \\\"top\\\" is not allowed: want Latest, Top, Media"},
	{"GET", social + "/communities/a%20b/tweets", "", 422, "community_id \\\"a b\\\" is not allowed"},
	{"GET", social + "/communities/1/tweets?count=0", "", 422, "count \\\"0\\\" is not allowed: want 1 to 100"},
	{"GET", social + "/communities/1/tweets?count=101", "", 422, "count"},
	{"GET", social + "/communities/1/tweets?cursor=c2Vjb25k", "", 422, "cursor"},
	{"GET", social + "/communities/search?query=x&cursor=c2Vjb25k", "", 422, "cursor"},
	{"GET", social + "/communities/search?query=" + strings.Repeat("x", 1025), "", 422, "query"},
	{"GET", "/v1/marketplace/products/0/1", "", 422, "shop_id \\\"0\\\" is not allowed: want a positive integer"},
	{"GET", "/v1/marketplace/products/1/99999999999999999999", "", 422, "item_id"},
	{"GET", "/v1/marketplace/products/1/1?market=SG", "", 422, "market \\\"SG\\\" is not allowed: want a storefront code"},
	{"POST", "/v1/web/scrape", `{"url":"https://example.com/","format":"pdf"}`, 422, "format \\\"pdf\\\" is not allowed: want markdown, html or text"},
	{"POST", "/v1/web/scrape", `{"url":"file:///etc/passwd"}`, 422, "url \\\"file:///etc/passwd\\\" is not allowed: want an http or https URL"},
	{"POST", "/v1/web/scrape", `{}`, 422, "url is missing"},
}

// Each value that is not allowed is refused with the field, the value and what is
// allowed, and costs nothing.
func TestFieldsAreRefused(t *testing.T) {
	for _, row := range badFields {
		w := newWorld(t)
		a := w.do(mine, row.method, row.path, row.body)
		if a.status != row.status || !strings.Contains(a.body, row.text) {
			t.Errorf("%s %.120s %.120s: %d %s, want %d with %s", row.method, row.path, row.body, a.status, a.body, row.status, row.text)
		}
		if len(a.body) > 2048 || strings.Contains(a.body, "sesame") {
			t.Errorf("%s %.120s: %s", row.method, row.path, a.body)
		}
		if got, n := w.spent(mine); got != 0 || n != 0 {
			t.Errorf("%s %.120s %.120s: charged %d", row.method, row.path, row.body, got)
		}
	}
}

func TestContentTypes(t *testing.T) {
	w := newWorld(t)
	for contentType, want := range map[string]int{
		"application/json": 200, "application/json; charset=UTF-8": 200, "Application/JSON": 200,
		"": 415, "text/plain": 415, "application/json; charset=latin1": 415, "application/x-www-form-urlencoded": 415, "application/json; =": 415,
	} {
		r := request("POST", social+"/stream/filter-rules/validate", `{"query":"moon"}`)
		r.Header.Set("X-Api-Key", w.key[mine])
		r.Header.Set("Content-Type", contentType)
		if a := w.send(r); a.status != want {
			t.Errorf("%q: %d, want %d", contentType, a.status, want)
		}
	}
}

// A request without a route gets JSON, too, and needs no key.
func TestNoRoute(t *testing.T) {
	w := newWorld(t)
	for _, row := range []struct {
		method, path string
		status       int
		header       string
		value        string
	}{
		{"GET", "/", 404, "Allow", ""},
		{"GET", "/v1/social/nothing", 404, "Allow", ""},
		{"GET", "/v2/social/health", 404, "Allow", ""},
		{"PUT", "/v1/account/me", 405, "Allow", "GET, HEAD"},
		{"DELETE", "/v1/social/stream/monitors", 405, "Allow", "GET, HEAD, POST"},
		{"GET", "/v1//account/me", http.StatusTemporaryRedirect, "Location", "/v1/account/me"},
	} {
		a := w.send(request(row.method, row.path, ""))
		if row.status == http.StatusTemporaryRedirect && a.status == http.StatusMovedPermanently {
			row.status = a.status // older versions of net/http
		}
		if a.status != row.status || a.header.Get(row.header) != row.value || a.header.Get("Content-Type") != "application/json" || a.header.Get("X-Request-Id") == "" {
			t.Errorf("%s %s: %d %v %s", row.method, row.path, a.status, a.header, a.body)
		}
	}
}

// Null resets an optional field of a monitor, and a missing field stays as it is.
func TestPatchOfAMonitor(t *testing.T) {
	w := newWorld(t)
	a := w.do(mine, "PATCH", monitors+"/{monitor}", `{"name":"moon","usernames":["esa","@jaxa"],"filter_types":["quote"],"poll_interval_seconds":7.5,"webhook_secret":"whsec_another_one_of_the_tests"}`)
	for field, want := range map[string]string{"name": `"name":"moon"`, "usernames": `"usernames":["esa","jaxa"]`, "types": `"filter_types":["quote"]`, "interval": `"poll_interval_seconds":7.5`, "url": `"webhook_url":"https://hooks.example.com/acme"`} {
		if !strings.Contains(a.body, want) {
			t.Errorf("%s: %s has no %s", field, a.body, want)
		}
	}
	if strings.Contains(a.body, "whsec_") {
		t.Errorf("%s shows a secret that was given", a.body)
	}
	a = w.do(mine, "PATCH", monitors+"/{monitor}", `{"filter_types":null,"poll_interval_seconds":null,"webhook_url":null}`)
	if want := `"webhook_url":null,"webhook_secret_set":false,"filter_types":[],"poll_interval_seconds":60,`; !strings.Contains(a.body, want) {
		t.Errorf("%s has no %s", a.body, want)
	}
	if a = w.do(mine, "POST", webhooks+"/test", `{"monitor_id":"{monitor}"}`); a.status != 422 || !strings.Contains(a.body, "want a monitor with a webhook") {
		t.Errorf("test call without a webhook: %d %s", a.status, a.body)
	}
	a = w.do(mine, "PATCH", monitors+"/{monitor}", `{"webhook_url":"https://hooks.example.com/moon"}`)
	if !strings.Contains(a.body, `"webhook_secret":"whsec_`) {
		t.Errorf("%s has no generated secret", a.body)
	}
}

// A cursor leads through all pages, and is valid only for the request and the owner
// that it was made for.
func TestCursors(t *testing.T) {
	w := newWorld(t)
	search := social + "/tweets/advanced_search?query=x&query_type=Top&cursor="
	var seen []string
	cursor := ""
	for range 3 {
		a := w.do(mine, "GET", search+cursor, "")
		v := a.decode(t)
		seen = append(seen, v["data"].([]any)[0].(map[string]any)["text"].(string))
		cursor = v["next_cursor"].(string)
	}
	if strings.Join(seen, ",") != ",second,third" || cursor != "" {
		t.Fatalf("pages %q, then %q", seen, cursor)
	}
	first := w.do(mine, "GET", search, "")
	cursor = first.decode(t)["next_cursor"].(string)
	for name, row := range map[string]struct{ owner, path string }{
		"another owner":    {theirs, search + cursor},
		"another query":    {mine, social + "/tweets/advanced_search?query=y&query_type=Top&cursor=" + cursor},
		"another type":     {mine, social + "/tweets/advanced_search?query=x&query_type=Media&cursor=" + cursor},
		"another endpoint": {mine, social + "/communities/search?query=x&cursor=" + cursor},
		"a changed one":    {mine, search + changed(cursor)},
		"a longer one":     {mine, search + cursor + "AAAA"},
		"the provider's":   {mine, search + "second"},
		"a huge one":       {mine, search + strings.Repeat("A", 5000)},
	} {
		if a := w.do(row.owner, "GET", row.path, ""); a.status != 422 || !strings.Contains(a.body, "want the next_cursor of an answer to the same question") {
			t.Errorf("%s: %d %s", name, a.status, a.body)
		}
	}
	other := newWorld(t, func(s *setup) { s.options.CursorKey = "" })
	if a := other.do(mine, "GET", search+cursor, ""); a.status != 422 {
		t.Errorf("a cursor of another key: %d", a.status)
	}
}

// changed returns the cursor with another first character.
func changed(cursor string) string {
	if cursor[0] == 'A' {
		return "B" + cursor[1:]
	}
	return "A" + cursor[1:]
}

func TestOptionsAreChecked(t *testing.T) {
	w := newWorld(t)
	for text, o := range map[string]enginehttp.Options{
		"Auth is missing":   {},
		`Segment "a/b"`:     {Auth: w.keys, Segment: "a/b"},
		`Segment "account"`: {Auth: w.keys, Segment: "account"},
		"RatePerMinute -1":  {Auth: w.keys, RatePerMinute: -1},
		"MaxRates -1":       {Auth: w.keys, MaxRates: -1},
		"Timeout -1ns":      {Auth: w.keys, Timeout: -1},
		"CursorKey of 5":    {Auth: w.keys, CursorKey: "short"},
	} {
		if _, err := enginehttp.New(w.engine, o); err == nil || !strings.Contains(err.Error(), "enginehttp: "+text) || strings.Contains(err.Error(), "short") {
			t.Errorf("%v, want %s", err, text)
		}
	}
	if _, err := enginehttp.New(nil, enginehttp.Options{Auth: w.keys}); err == nil {
		t.Error("no engine was accepted")
	}
}

// Pairs of surrogates are characters, and an escaped backslash before them is one of itself.
func TestSurrogates(t *testing.T) {
	for name, want := range map[string]bool{
		`"\ud83d\ude80"`: true, `"\uD83D\uDE80\ud83d\ude80"`: true, `"\\ud800"`: true, `"\\\\ud800"`: true, `"\u00e9\ue000\n\/"`: true,
		`"\\\ud800"`: false, `"\ud83d"`: false, `"\ud83d\u0041"`: false, `"\ud83d\ud83d\ude80"`: false, `"\ude80\ud83d"`: false, `"\udBFF \udfff"`: false,
	} {
		f, err := enginehttp.ParseForm([]byte(`{"name":`+name+`}`), []string{"name"})
		if err != nil {
			t.Fatal(err)
		}
		if f.Text("name"); (f.Err() == nil) != want {
			t.Errorf("%s: %v, want it taken: %t", name, f.Err(), want)
		}
	}
}
