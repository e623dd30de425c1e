package enginehttp

import (
	"net/http"

	"github.com/streamwatch/streamwatch/billing"
)

// table lists all endpoints. Their names are the operationIds of the OpenAPI
// document, and the arguments of Pricing.Request.
func (h *Handler) table() []*route {
	seg, p := "/v1/"+h.opts.Segment, h.opts.Providers
	stream := &route{method: "GET", path: seg + "/stream", name: "stream", params: []string{"monitor_id", "rule_id", "since"}, several: []string{"monitor_id", "rule_id"}, open: true, serve: unconfigured("WebSocket")}
	if hub := h.engine.WebSocket(); hub != nil {
		stream.raw = hub
	}
	administered := func(serve func(*call) (reply, error)) func(*call) (reply, error) {
		if h.opts.Keys == nil {
			return unconfigured("administration of keys")
		}
		return serve
	}
	monitors, rules, webhooks := h.monitorAPI(), ruleAPI{h}, webhookAPI{h}
	ruleRecords := rules.records()
	keys, lookups := keyAPI{h}, lookupAPI{h}
	return []*route{
		{method: "GET", path: "/v1/openapi.json", name: "openapi", open: true, serve: h.openAPI},
		{method: "GET", path: seg + "/health", name: "health", open: true, serve: h.healthy},
		{method: "GET", path: "/v1/account/me", name: "account", serve: h.account},
		{method: "GET", path: "/v1/account/keys", name: "list_keys", admin: true, params: with(), serve: administered(keys.listKeys)},
		{method: "POST", path: "/v1/account/keys", name: "create_key", once: true, admin: true, fields: keyFields, serve: administered(keys.createKey)},
		{method: "DELETE", path: "/v1/account/keys/{key_id}", name: "revoke_key", admin: true, serve: administered(keys.revokeKey)},

		{method: "GET", path: seg + "/users/{username}/by_username", name: "user_by_username", serve: requireProvider(p.UserByUsername, lookups.userByUsername)},
		{method: "GET", path: seg + "/users/{user_id}/by_id", name: "user_by_id", serve: requireProvider(p.UsersByIDs, lookups.userByID)},
		{method: "GET", path: seg + "/users/batch_by_ids", name: "users_by_ids", params: []string{"user_ids"}, serve: requireProvider(p.UsersByIDs, lookups.usersByIDs)},
		{method: "GET", path: seg + "/users/{username}/latest_tweets", name: "latest_tweets", params: []string{"cursor"}, serve: requireProvider(p.Timeline, lookups.latestTweets)},
		{method: "GET", path: seg + "/tweets/{$}", name: "tweets_by_ids", params: []string{"tweets"}, serve: requireProvider(p.TweetsByIDs, lookups.tweetsByIDs)},
		{method: "GET", path: seg + "/tweets", name: "tweets_by_ids", params: []string{"tweets"}, serve: requireProvider(p.TweetsByIDs, lookups.tweetsByIDs)},
		{method: "GET", path: seg + "/tweets/tweet/{tweet_id}", name: "tweet_by_id", serve: requireProvider(p.TweetsByIDs, lookups.tweetByID)},
		{method: "GET", path: seg + "/tweets/advanced_search", name: "advanced_search", params: []string{"query", "query_type", "count", "cursor"}, serve: requireProvider(p.Search, lookups.searchTweets)},
		{method: "GET", path: seg + "/communities/{community_id}/tweets", name: "community_tweets", params: []string{"tweet_type", "count", "cursor"}, serve: requireProvider(p.CommunityTweets, lookups.communityTweets)},
		{method: "GET", path: seg + "/communities/search", name: "community_search", params: []string{"query", "cursor"}, serve: requireProvider(p.CommunitySearch, lookups.searchCommunities)},
		{method: "GET", path: "/v1/marketplace/products/{shop_id}/{item_id}", name: billing.EndpointProduct, params: []string{"market"}, serve: requireProvider(p.Product, lookups.product)},
		{method: "POST", path: "/v1/web/scrape", name: "scrape", reads: true, fields: []string{"url", "format"}, serve: requireProvider(p.Scraper, lookups.scrape)},

		stream,
		{method: "GET", path: seg + "/stream/monitors", name: "list_monitors", params: with("status"), serve: monitors.handleList},
		{method: "POST", path: seg + "/stream/monitors", name: "create_monitor", once: true, fields: monitorFields, serve: monitors.handleCreate},
		{method: "GET", path: seg + "/stream/monitors/{monitor_id}", name: "get_monitor", serve: monitors.handleGet},
		{method: "PATCH", path: seg + "/stream/monitors/{monitor_id}", name: "update_monitor", match: true, fields: append([]string{"status"}, monitorFields...), serve: monitors.handlePatch},
		{method: "DELETE", path: seg + "/stream/monitors/{monitor_id}", name: "delete_monitor", match: true, serve: monitors.handleDelete},

		{method: "GET", path: seg + "/stream/webhooks", name: "list_webhooks", params: with("monitor_id", "rule_id"), serve: webhooks.listWebhooks},
		{method: "POST", path: seg + "/stream/webhooks", name: "create_webhook", once: true, fields: []string{"monitor_id", "rule_id", "url", "secret", "from"}, serve: webhooks.createWebhook},
		{method: "POST", path: seg + "/stream/webhooks/test", name: "test_webhook", once: true, fields: []string{"monitor_id"}, serve: webhooks.testWebhook},
		{method: "GET", path: seg + "/stream/webhooks/{webhook_id}", name: "get_webhook", serve: webhooks.getWebhook},
		{method: "PATCH", path: seg + "/stream/webhooks/{webhook_id}", name: "update_webhook", match: true, fields: []string{"url", "headers", "paused"}, serve: webhooks.patchWebhook},
		{method: "DELETE", path: seg + "/stream/webhooks/{webhook_id}", name: "delete_webhook", match: true, serve: webhooks.deleteWebhook},
		{method: "POST", path: seg + "/stream/webhooks/{webhook_id}/rotate", name: "rotate_webhook", once: true, fields: []string{"grace_seconds"}, bodiless: true, serve: webhooks.rotateWebhook},
		{method: "POST", path: seg + "/stream/webhooks/{webhook_id}/enable", name: "enable_webhook", serve: webhooks.enableWebhook},
		{method: "POST", path: seg + "/stream/webhooks/{webhook_id}/recover", name: "recover_webhook", once: true, fields: []string{"since"}, serve: webhooks.recoverWebhook},
		{method: "GET", path: seg + "/stream/deliveries/{delivery_id}", name: "get_delivery", serve: webhooks.getDelivery},
		{method: "POST", path: seg + "/stream/webhooks/{webhook_id}/replay", name: "replay_webhook", once: true, fields: []string{"since", "until"}, serve: webhooks.replayWebhook},
		{method: "GET", path: seg + "/stream/webhooks/{webhook_id}/replay", name: "get_replay", serve: webhooks.getReplay},
		{method: "POST", path: seg + "/stream/deliveries/{delivery_id}/redeliver", name: "redeliver", once: true, serve: webhooks.redeliver},

		{method: "GET", path: seg + "/stream/filter-rules", name: "list_filter_rules", params: with("status"), serve: ruleRecords.handleList},
		{method: "POST", path: seg + "/stream/filter-rules", name: "create_filter_rule", once: true, fields: append([]string{"platform"}, ruleFields...), serve: ruleRecords.handleCreate},
		{method: "GET", path: seg + "/stream/filter-rules/{rule_id}", name: "get_filter_rule", serve: ruleRecords.handleGet},
		{method: "PATCH", path: seg + "/stream/filter-rules/{rule_id}", name: "update_filter_rule", match: true, fields: append([]string{"status"}, ruleFields...), serve: ruleRecords.handlePatch},
		{method: "DELETE", path: seg + "/stream/filter-rules/{rule_id}", name: "delete_filter_rule", match: true, serve: ruleRecords.handleDelete},
		{method: "GET", path: seg + "/stream/filter-rules/{rule_id}/logs", name: "filter_rule_logs", params: with("author_username", "delivery_status", "since", "until", "sort", "cursor"), serve: rules.ruleLogs},
		{method: "POST", path: seg + "/stream/filter-rules/validate", name: "validate_filter_rule", reads: true, fields: []string{"query"}, serve: rules.validateRule},
		{method: "GET", path: seg + "/stream/filter-rules-pricing", name: "filter_rules_pricing", serve: rules.rulePricing},

		{method: "GET", path: seg + "/stream/logs", name: "delivery_logs", params: with("monitor_id", "rule_id", "webhook_id", "author_username", "delivery_status", "since", "until", "sort", "cursor"), serve: webhooks.deliveryLogs},
		{method: "GET", path: seg + "/stream/billing-logs", name: "billing_logs", params: with("monitor_id", "rule_id", "since", "until", "sort", "cursor"), serve: h.billingLogs},
	}
}

// with returns the parameters of a list: its own and pageParams.
func with(own ...string) []string { return append(own, pageParams...) }

// requireProvider returns serve, or nil if provider is nil.
func requireProvider(provider any, serve func(*call) (reply, error)) func(*call) (reply, error) {
	if provider == nil {
		return nil
	}
	return serve
}

// unconfigured returns an endpoint that answers 501 because the service has no what.
func unconfigured(what string) func(*call) (reply, error) {
	return func(*call) (reply, error) { return reply{}, lacks(what) }
}

// lacks returns the 501 of a service that does not have what.
func lacks(what string) error {
	return &failure{status: http.StatusNotImplemented, text: "not implemented: this service has no " + what + " for this endpoint"}
}
