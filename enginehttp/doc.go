// Package enginehttp offers an engine over HTTP: all of /v1 as one
// http.Handler.
//
//	h, err := enginehttp.New(engine, enginehttp.Options{
//		Auth:      keys,           // an *apikey.Manager, or your own apikey.Authenticator
//		Ledger:    store.Ledger(), // none: nothing is charged
//		Providers: enginehttp.Providers{UserByUsername: platform, Timeline: platform},
//	})
//	mux.Handle("/v1/", h)
//
// What there is, request by request and field by field, is in the OpenAPI
// document that the handler itself serves at /v1/openapi.json. An endpoint whose
// provider is not set answers 501.
//
// # A request's way
//
// Each of these is done once, for all endpoints, in this order:
//
//  1. X-Request-Id is set, to what the client sent if that is 1 to 128 letters,
//     digits, ".", "_", ":" and "-"; what follows is logged with it, without
//     secrets, query strings and bodies; a panic becomes a 500.
//     A page of one of Options.Origins gets CORS headers, a preflight its answer.
//  2. The route is found: else 404, or 405 with Allow.
//  3. The x-api-key is checked. Missing, malformed, unknown, expired and revoked
//     keys get one and the same 401. Health and the description need no key, and
//     WebSocket clients are checked by the hub: see WebSocketAuth.
//  4. The key's rate is counted: 429 with Retry-After when it is exceeded;
//     X-RateLimit-Limit, -Remaining and -Reset (Unix seconds) in every answer.
//     Then its scope: 403 for a change with the scope read, and for the owner's
//     keys without the scope admin. Administering keys costs nothing, so that a
//     key that leaked can be revoked with an empty balance.
//  5. The query string and the body, where there is one, are read: 415 for another
//     type than JSON, 413 beyond 1 MiB, 400 for what is not one JSON object, 422
//     for a parameter or field that the endpoint does not know.
//  6. Credits are reserved: 402 when the balance does not cover them.
//  7. The endpoint answers. Ids of other owners answer as unknown ones do. A
//     monitor or rule that is to be made, to go on or to get dearer answers 402
//     when the credits do not cover the next hour: see streamwatch.Engine.Covers.
//  8. After the whole of a 2xx was handed to the connection the reservation is
//     charged; in every other case it is released, also after a panic, a timeout,
//     and when the client had gone before. X-Credits-Used says what a 2xx cost. A process
//     that dies in between charges nothing: reservations expire.
//
// # Changes
//
// Records of monitors, rules and webhooks come with an ETag. PATCH and DELETE
// heed If-Match: 412 when the record has been changed since. A webhook that is
// being changed at the very moment may be deleted all the same.
//
// # Repetitions
//
// A POST that makes or sends something heeds Idempotency-Key: the same path and
// body with the same key of the same owner get the answer of the first request,
// and are neither done nor charged again. Answers of 2xx are kept for 24 hours,
// the newest 1,000 of an owner and 10,000 or 64 MiB in all, in this process's
// memory: after a restart, and in another process, a key is new.
//
// # Errors
//
// Errors are {"error": …, "detail": …}, both the same text. 422 names the field,
// its value and what is allowed; 502 is a provider that failed, 503 the store.
//
// # Credits
//
// Options.Pricing prices a request by the endpoint's name, the operationId in the
// OpenAPI document. The default price list charges every request that needs a
// key, the account's own included; one that returns 0 makes an endpoint free.
// Balances are shown in whole credits, rounded down; the billing log shows exact
// amounts, to the thousandth.
//
// # Stopping
//
// The handler starts no goroutines. Stop the http.Server first, with Shutdown,
// which waits for the requests under way, then the engine, which closes the
// WebSocket connections. NewServer has timeouts that slow clients cannot abuse.
package enginehttp
