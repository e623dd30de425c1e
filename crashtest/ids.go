package main

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base32"
	"encoding/hex"
	"fmt"
	"math/big"
	"strconv"
	"strings"
)

// These functions make the ids that the promises depend on. They follow the documentation, because
// the engine's code may have a mistake. An id is a prefix, 8 digits to sort by, and 128 bits of
// SHA-256 over the parts, each ended by a NUL, in lower-case base32 with the extended hex alphabet
// (RFC 4648), without padding.

func eventID(source, tweet string) string {
	return "evt_" + magnitude(tweet) + hashed(source, tweet)
}

func deliveryID(event, endpoint string) string {
	return "dlv_" + event[len("evt_"):][:8] + hashed(event, endpoint)
}

// chargeID returns the id of the charge for an event: see chargedJournal.
func chargeID(event string) string { return "chg_" + event }

func hashed(parts ...string) string {
	h := sha256.New()
	for _, p := range parts {
		h.Write([]byte(p))
		h.Write([]byte{0})
	}
	return strings.ToLower(base32.HexEncoding.WithPadding(base32.NoPadding).EncodeToString(h.Sum(nil)[:16]))
}

// magnitude returns the digits to sort by. The post's id is a decimal number. The digits have the
// number of its bits, in 7 bits, then the 33 bits after its first one. They are 8 digits of 5 bits.
func magnitude(tweet string) string {
	n, ok := new(big.Int).SetString(tweet, 10)
	if !ok {
		panic("the platform's posts have numbers for ids, not " + tweet)
	}
	binary := n.Text(2)[1:] + strings.Repeat("0", 33)
	bits := fmt.Sprintf("%07b", n.BitLen()) + binary[:33]
	var place string
	for ; bits != ""; bits = bits[5:] {
		digit, _ := strconv.ParseUint(bits[:5], 2, 8)
		place += strconv.FormatUint(digit, 32)
	}
	return place
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
