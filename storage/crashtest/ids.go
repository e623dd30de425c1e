package main

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base32"
	"encoding/hex"
	"strings"
)

// The identities that the promises rest on, written again from their
// description, so that a mistake in the engine's is not repeated here: 128 bits
// of SHA-256 over the parts, each ended by a NUL, in lower-case base32 (RFC
// 4648) without padding, after a prefix.

func eventID(source, tweet string) string { return hashed("evt_", source, tweet) }

func deliveryID(event, endpoint string) string { return hashed("dlv_", event, endpoint) }

// chargeID is the id of the charge for an event: see chargedJournal.
func chargeID(event string) string { return "chg_" + event }

func hashed(prefix string, parts ...string) string {
	h := sha256.New()
	for _, p := range parts {
		h.Write([]byte(p))
		h.Write([]byte{0})
	}
	digits := base32.StdEncoding.EncodeToString(h.Sum(nil)[:16])
	return prefix + strings.ToLower(strings.TrimRight(digits, "="))
}

// signature is the X-Signature-256 of a body.
func signature(key string, body []byte) string {
	h := hmac.New(sha256.New, []byte(key))
	h.Write(body)
	return "sha256=" + hex.EncodeToString(h.Sum(nil))
}

// handlerEndpoint is the endpoint id of the engine's in-process handler.
const handlerEndpoint = "handler:default"

// target is the name of an account's cursor.
func target(username string) string { return "account:" + strings.ToLower(username) }
