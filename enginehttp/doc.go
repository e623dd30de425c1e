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
// The OpenAPI document, which the handler serves at /v1/openapi.json, describes
// every request and every field. An endpoint whose provider is not set answers 501.
//
// # How a request is handled
//
// All endpoints share these steps, in this order:
//
//  1. X-Request-Id is set. It is the client's if that has 1 to 128 letters,
//     digits, ".", "_", ":" and "-". The log names the request by it, and never
//     has secrets, query strings or bodies. A panic becomes a 500.
//     A page of one of Options.Origins gets CORS headers, and its preflights are
//     answered.
//  2. The route is found: 404 if there is none, 405 with Allow if the path has
//     other methods.
//  3. The x-api-key is checked. Missing, malformed, unknown, expired and revoked
//     keys all get the same 401. Health and the OpenAPI document need no key, and
//     WebSocket clients are checked by the hub: see WebSocketAuth.
//  4. The request counts against the key's rate: 429 with Retry-After when that is
//     exceeded. Every answer has X-RateLimit-Limit, X-RateLimit-Remaining and
//     X-RateLimit-Reset (Unix seconds). Then the key's scope is checked: 403 for a
//     change with the scope read, and for /v1/account/keys without the scope
//     admin. Administering keys costs nothing, so that a key that leaked can be
//     revoked with an empty balance.
//  5. The query string and the body, if the endpoint takes one, are read: 415 for a
//     body that is not declared as JSON, 413 beyond 1 MiB, 400 for what is not one JSON
//     object, 422 for a parameter or field that the endpoint does not know. Then an
//     endpoint whose provider is not set answers 501.
//  6. Credits are reserved: 402 when the balance does not cover them.
//  7. The endpoint does its work. An id of another owner is answered as an unknown
//     one is. A request that creates or resumes a monitor or rule, or makes it
//     dearer, gets 402 when the credits do not cover the next hour: see
//     streamwatch.Engine.Covers.
//  8. Once all of a 2xx was handed to the connection, the reservation is charged.
//     In every other case it is released: after an error, a panic or a timeout,
//     and when the client left before the answer was sent. A request with an
//     Idempotency-Key is charged when its answer is stored. X-Credits-Used says
//     what a 2xx cost. If the process dies before the charge, nothing is charged,
//     and the reservation expires.
//
// # Changes
//
// Answers that have one monitor, rule or webhook have an ETag. PATCH and DELETE
// heed If-Match: 412 when the record was changed since it was read. For DELETE of
// a webhook this is not atomic: a change at the very moment of the deletion may be lost.
//
// # Idempotency
//
// A POST that creates or sends something heeds Idempotency-Key: a request with the
// same path, body, key and owner as an earlier one gets that one's answer, and is
// neither carried out nor charged again, and 409 while that one is under way. Answers of
// 2xx are kept for 24 hours, the newest 1,000 of each owner and at most 10,000 or 64 MiB
// in all.
//
// They are in the engine's store (streamwatch.Engine.Answers), so that a repetition may
// reach any node of a fleet, or come after a restart. A key whose process dies half-way is
// free 10 s after Options.Timeout; what that process had done by then is not undone.
// Answers are stored encrypted, by a key made of the request and its Idempotency-Key: with
// a key that is random, such as a UUID, nobody opens one who has only the store, and with
// streamwatch.Config.Sealer nobody at all. With a store that is no storage.Keyed they are in
// the process's memory: a restart forgets them, and other processes on the same store do not
// know them.
//
// # Errors
//
// Errors are {"error": …, "detail": …}, both with the same text. 422 names the
// field, its value and what is allowed; 502 means that a provider failed, 503 that
// the store did.
//
// # Credits
//
// Options.Pricing prices a request by the endpoint's name, which is its operationId
// in the OpenAPI document. The default price list charges every request that needs
// a key, even the one for the balance; a price of 0 makes an endpoint free.
// Balances are shown in whole credits, rounded down; the billing log shows exact
// amounts, to the thousandth.
//
// # Stopping
//
// The handler starts no goroutines. Stop the http.Server first, with Shutdown,
// which waits for the requests under way, then the engine, which closes the
// WebSocket connections. NewServer returns an http.Server whose timeouts keep slow
// clients from holding connections.
package enginehttp
