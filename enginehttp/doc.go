// Package enginehttp serves an engine over HTTP: all of /v1 as one http.Handler.
//
//	h, err := enginehttp.New(engine, enginehttp.Options{
//		Auth:      keys,           // an *apikey.Manager, or your own apikey.Authenticator
//		Ledger:    store.Ledger(), // none: nothing is charged
//		Providers: enginehttp.Providers{UserByUsername: platform, Timeline: platform},
//	})
//	mux.Handle("/v1/", h)
//
// The handler serves an OpenAPI document at /v1/openapi.json, which describes every request, every
// field and the webhooks, and an AsyncAPI document of the WebSocket at /v1/asyncapi.json. An
// endpoint whose provider is not set answers 501.
//
// # How a request is handled
//
// All endpoints share these steps, in this order:
//
//  1. X-Request-Id is set. The client's value is used if it has 1 to 128 letters,
//     digits, ".", "_", ":" and "-". The log contains this id, that of the record and
//     the client's address, but never secrets, query strings or bodies. A panic becomes a 500.
//     Pages of Options.Origins get CORS headers and answers to preflights.
//  2. The route is found: 404 if there is none, 405 with Allow if the path has
//     other methods.
//  3. The key is checked: the x-api-key, or that of Options.Key. Missing, malformed, unknown,
//     expired and revoked keys all get the same 401. Health and the two documents need no
//     key. The hub checks the keys of WebSocket clients: see WebSocketAuth.
//  4. The request counts against the key's rate and Options.OwnerKeys: 429 with
//     Retry-After if one is exceeded. Every answer has X-RateLimit-Limit,
//     X-RateLimit-Remaining and X-RateLimit-Reset (Unix seconds) of the one with
//     fewer requests left. Then the key's scope is checked: 403 for a
//     change with the scope read, and for /v1/account/keys without the scope
//     admin. Requests to /v1/account/keys are free, so a leaked key can be revoked even
//     with an empty balance.
//  5. The query string is read, and the body if the endpoint has one: 415 for a body
//     without a JSON Content-Type, 413 above 1 MiB, 400 if it is not one JSON object,
//     422 for an unknown parameter or field. Then an endpoint without its provider
//     answers 501.
//  6. Credits are reserved: 402 if the balance does not cover them.
//  7. The endpoint does its work, within Options.Timeout. An id of another owner gets the
//     same answer as an unknown id. A request that creates or resumes a monitor or rule, or
//     raises its price, gets 402 if the credits do not cover the next hour: see
//     streamwatch.Engine.Covers.
//  8. When a whole 2xx answer was written to the connection, the reservation is
//     charged. Otherwise it is released: after an error, a panic or a timeout,
//     or if the client disconnects before the answer is sent. A request with an
//     Idempotency-Key is charged if its answer was stored. X-Credits-Used is the
//     price of a 2xx. If the process dies before the charge, nothing is charged,
//     and the reservation expires.
//
// # A store that hangs
//
// A request waits for the store for 1.8 s; then it gets a 503 with Retry-After. Calls of
// providers and test calls of webhooks have all of Options.Timeout. So do the logs, recoveries
// and deletions, once the store has answered a short question: they may be long work. If a
// change is given up, or the store fails, the change may have been made or may still be made,
// and the 503 says that the request may have been carried out: read the record before you
// repeat it. The 503 costs nothing. This needs a store that returns when the context of a call
// ends.
//
// # Changes
//
// Answers with one monitor, rule or webhook have an ETag. PATCH and DELETE honor If-Match:
// 412 if the record was changed since it was read. For DELETE of a webhook this check is not
// atomic: a change between the check and the deletion goes unnoticed.
//
// # Idempotency
//
// A POST that creates or sends something honors Idempotency-Key. A request with the same
// path, body, key and owner as an earlier one is not carried out and not charged. It gets
// the earlier answer, or 409 while the earlier request is in progress. 2xx answers are kept
// for 24 hours: the newest 1,000 of each owner, and at most 10,000 or 64 MiB in total. After
// any other answer a repetition is carried out. After a 503 it gets 409 if the earlier request has
// created the monitor, rule or webhook; a key may be created twice.
//
// The answers are in the engine's store (storage.Ports.State). So a repetition may reach any
// node of a fleet, or come after a restart. If the process dies during a request, or the store
// hangs at its end, its Idempotency-Key can be used again 10 s after Options.Timeout. Changes
// that the request has made are not undone.
//
// Stored answers are encrypted with a key derived from the request and its Idempotency-Key.
// If the Idempotency-Key is random, such as a UUID, nobody can decrypt an answer with
// the store alone.
//
// # Errors
//
// Errors are {"error": …, "detail": …}, both with the same text. 422 names the field, its
// value and the allowed values. 502 means that a provider failed, 503 that the store did.
//
// # Credits
//
// Options.Pricing prices a request by the endpoint's name: its operationId in the OpenAPI
// document. The default price list charges every request that needs a key, including the
// request for the balance. A price of 0 makes an endpoint free. Balances are in whole
// credits, rounded down. The billing log has exact amounts, to the thousandth.
//
// # Stopping
//
// The handler starts no goroutines. First stop the http.Server with Shutdown, which waits
// for the requests in progress; then stop the engine, which closes the WebSocket
// connections. NewServer returns an http.Server with timeouts that keep slow clients from
// holding connections.
package enginehttp
