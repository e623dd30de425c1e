package receive_test

import (
	"encoding/base64"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/deliver/internal/delivertest"
	"github.com/streamwatch/streamwatch/deliver/receive"
	"github.com/streamwatch/streamwatch/fetcher"
)

const (
	newSecret = deliver.Secret("whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD")
	rawSecret = deliver.Secret("a plain text secret of a user's own")
)

var sentAt = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// signed is the header of a request as the sender makes it at sentAt.
func signed(b []byte, secrets ...deliver.Secret) http.Header {
	h := http.Header{}
	h.Set(deliver.HeaderWebhookID, "whk_1")
	h.Set(deliver.HeaderDeliveryID, "dlv_1")
	h.Set(deliver.HeaderSignature, deliver.Sign(secrets[0], b))
	h.Set(deliver.HeaderStandardID, "dlv_1")
	h.Set(deliver.HeaderStandardTimestamp, strconv.FormatInt(sentAt.Unix(), 10))
	var all []string
	for _, s := range secrets {
		all = append(all, deliver.SignStandard(s, "dlv_1", sentAt, b))
	}
	h.Set(deliver.HeaderStandardSignature, strings.Join(all, " "))
	return h
}

func verifier(t testing.TB, cfg receive.Config) *receive.Verifier {
	t.Helper()
	if cfg.Secrets == nil && cfg.SecretsFor == nil {
		cfg.Secrets = []deliver.Secret{secret}
	}
	if cfg.Now == nil {
		cfg.Now = func() time.Time { return sentAt }
	}
	v, err := receive.NewVerifier(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// withText is a valid body with a text.
func withText(text string) []byte {
	return delivertest.Body(func(_ *deliver.Event, p *fetcher.Tweet) { p.Text, p.FullText = text, text })
}

func TestVerifier(t *testing.T) {
	b := delivertest.Body(nil)
	drop := func(names ...string) func(http.Header) {
		return func(h http.Header) {
			for _, n := range names {
				h.Del(n)
			}
		}
	}
	set := func(name, value string) func(http.Header) { return func(h http.Header) { h.Set(name, value) } }
	bare := drop(deliver.HeaderStandardID, deliver.HeaderStandardTimestamp, deliver.HeaderStandardSignature)
	good := deliver.SignStandard(secret, "dlv_1", sentAt, b)
	secrets := func(s ...deliver.Secret) receive.Config { return receive.Config{Secrets: s} }
	at := func(d time.Duration) receive.Config {
		return receive.Config{Now: func() time.Time { return sentAt.Add(d) }}
	}
	var none error
	for _, row := range []struct {
		name string
		cfg  receive.Config
		by   []deliver.Secret // that signed; secret by default
		edit func(http.Header)
		want error
	}{
		{"all headers", secrets(secret), nil, nil, none},
		{"the trio alone", secrets(secret), nil, drop(deliver.HeaderSignature, deliver.HeaderWebhookID, deliver.HeaderDeliveryID), none},
		{"X-Signature-256 alone", secrets(secret), nil, bare, none},
		{"X-Signature-256 alone, where a timestamp is required", receive.Config{RequireTimestamp: true}, nil, bare, receive.ErrSignature},
		{"all headers, where a timestamp is required", receive.Config{RequireTimestamp: true}, nil, nil, none},
		{"a secret that is plain text", secrets(rawSecret), []deliver.Secret{rawSecret}, nil, none},

		{"rotated; the receiver knows the old one", secrets(secret), []deliver.Secret{newSecret, secret}, nil, none},
		{"rotated; the receiver knows the new one", secrets(newSecret), []deliver.Secret{newSecret, secret}, nil, none},
		{"rotated; the receiver knows both", secrets(secret, newSecret), []deliver.Secret{newSecret, secret}, nil, none},
		{"the receiver knows both, X-Signature-256 by the old one", secrets(newSecret, secret), nil, bare, none},
		{"the receiver knows both, X-Signature-256 by the new one", secrets(secret, newSecret), []deliver.Secret{newSecret}, bare, none},
		{"rotated and over; the receiver knows the old one", secrets(secret), []deliver.Secret{newSecret}, nil, receive.ErrSignature},
		{"rotated; the receiver knows the old one and X-Signature-256 alone", secrets(secret), []deliver.Secret{newSecret, secret}, bare, receive.ErrSignature},

		{"secrets by webhook", receive.Config{SecretsFor: byWebhook}, nil, nil, none},
		{"another webhook", receive.Config{SecretsFor: byWebhook}, nil, set(deliver.HeaderWebhookID, "whk_2"), receive.ErrSignature},
		{"a webhook without secrets", receive.Config{SecretsFor: byWebhook}, nil, set(deliver.HeaderWebhookID, "whk_3"), receive.ErrSignature},
		{"a webhook with an empty secret", receive.Config{SecretsFor: byWebhook}, []deliver.Secret{""}, set(deliver.HeaderWebhookID, "whk_empty"), receive.ErrSignature},
		{"a webhook with an empty secret, X-Signature-256 alone", receive.Config{SecretsFor: byWebhook}, []deliver.Secret{""}, func(h http.Header) {
			bare(h)
			h.Set(deliver.HeaderWebhookID, "whk_empty")
		}, receive.ErrSignature},

		{"on time", at(0), nil, nil, none},
		{"5 min late", at(5 * time.Minute), nil, nil, none},
		{"more than 5 min late", at(5*time.Minute + 1), nil, nil, receive.ErrTimestamp},
		{"5 min early", at(-5 * time.Minute), nil, nil, none},
		{"more than 5 min early", at(-5*time.Minute - 1), nil, nil, receive.ErrTimestamp},
		{"years late", at(9e17), nil, nil, receive.ErrTimestamp},
		{"signed for the end of time", secrets(secret), nil, func(h http.Header) {
			h.Set(deliver.HeaderStandardTimestamp, "9223372036854775807")
			h.Set(deliver.HeaderStandardSignature, deliver.SignStandard(secret, "dlv_1", time.Unix(9223372036854775807, 0), b))
		}, receive.ErrTimestamp},
		{"signed for the time before the first", secrets(secret), nil, func(h http.Header) {
			h.Set(deliver.HeaderStandardTimestamp, "-9223372036854775808")
			h.Set(deliver.HeaderStandardSignature, deliver.SignStandard(secret, "dlv_1", time.Unix(-9223372036854775808, 0), b))
		}, receive.ErrTimestamp},
		{"late, with X-Signature-256 alone", at(time.Hour), nil, bare, none},
		{"late and forged: nothing is said about the time", at(time.Hour), []deliver.Secret{newSecret}, nil, receive.ErrSignature},
		{"a tolerance of one's own", receive.Config{Tolerance: time.Second, Now: func() time.Time { return sentAt.Add(2 * time.Second) }}, nil, nil, receive.ErrTimestamp},

		{"no signature at all", secrets(secret), nil, func(h http.Header) { bare(h); h.Del(deliver.HeaderSignature) }, receive.ErrSignature},
		{"the trio without its id", secrets(secret), nil, drop(deliver.HeaderStandardID), receive.ErrSignature},
		{"the trio without its timestamp", secrets(secret), nil, drop(deliver.HeaderStandardTimestamp), receive.ErrSignature},
		{"the trio without its signature", secrets(secret), nil, drop(deliver.HeaderStandardSignature), receive.ErrSignature},
		{"another id", secrets(secret), nil, set(deliver.HeaderStandardID, "dlv_2"), receive.ErrSignature},
		{"an id with a dot", secrets(secret), nil, func(h http.Header) {
			h.Set(deliver.HeaderStandardID, "dlv.1")
			h.Set(deliver.HeaderStandardSignature, deliver.SignStandard(secret, "dlv.1", sentAt, b))
		}, receive.ErrSignature},
		{"an endless id", secrets(secret), nil, func(h http.Header) {
			id := strings.Repeat("x", 257)
			h.Set(deliver.HeaderStandardID, id)
			h.Set(deliver.HeaderStandardSignature, deliver.SignStandard(secret, id, sentAt, b))
		}, receive.ErrSignature},
		{"an endless X-Webhook-Id", secrets(secret), nil, set(deliver.HeaderWebhookID, strings.Repeat("x", 257)), receive.ErrSignature},
		{"an endless X-Delivery-Id", secrets(secret), nil, set(deliver.HeaderDeliveryID, strings.Repeat("x", 257)), receive.ErrSignature},
		{"another timestamp", secrets(secret), nil, set(deliver.HeaderStandardTimestamp, strconv.FormatInt(sentAt.Unix()+1, 10)), receive.ErrSignature},
		{"a timestamp with a zero before it", secrets(secret), nil, set(deliver.HeaderStandardTimestamp, "0"+strconv.FormatInt(sentAt.Unix(), 10)), receive.ErrSignature},
		{"a timestamp with a sign", secrets(secret), nil, set(deliver.HeaderStandardTimestamp, "+"+strconv.FormatInt(sentAt.Unix(), 10)), receive.ErrSignature},
		{"a timestamp in milliseconds", secrets(secret), nil, set(deliver.HeaderStandardTimestamp, strconv.FormatInt(sentAt.UnixMilli(), 10)), receive.ErrSignature},
		{"a timestamp in words", secrets(secret), nil, set(deliver.HeaderStandardTimestamp, sentAt.Format(time.RFC3339)), receive.ErrSignature},
		{"an endless timestamp", secrets(secret), nil, set(deliver.HeaderStandardTimestamp, strings.Repeat("9", 100)), receive.ErrSignature},

		{"a list with others' versions", secrets(secret), nil, set(deliver.HeaderStandardSignature, "v1a,AAAA "+good+" v2,BBBB"), none},
		{"a list with spaces", secrets(secret), nil, set(deliver.HeaderStandardSignature, "  "+good+" "), none},
		{"the right one as another version", secrets(secret), nil, set(deliver.HeaderStandardSignature, "v2"+good[2:]), receive.ErrSignature},
		{"the right one without a version", secrets(secret), nil, set(deliver.HeaderStandardSignature, good[3:]), receive.ErrSignature},
		{"the right one with something behind it", secrets(secret), nil, set(deliver.HeaderStandardSignature, good+",x"), receive.ErrSignature},
		{"a list joined by commas", secrets(secret), nil, set(deliver.HeaderStandardSignature, good+","+good), receive.ErrSignature},
		{"without padding", secrets(secret), nil, set(deliver.HeaderStandardSignature, strings.TrimRight(good, "=")), receive.ErrSignature},
		{"an endless list with the right one", secrets(secret), nil, set(deliver.HeaderStandardSignature, strings.Repeat("v1,AAAA ", 512)+good), receive.ErrSignature},
		{"a bad trio beside a good X-Signature-256", secrets(secret), nil, set(deliver.HeaderStandardSignature, "v1,AAAA"), receive.ErrSignature},
	} {
		t.Run(row.name, func(t *testing.T) {
			by := row.by
			if by == nil {
				by = []deliver.Secret{secret}
			}
			h := signed(b, by...)
			if row.edit != nil {
				row.edit(h)
			}
			r, err := verifier(t, row.cfg).Verify(h.Get, b)
			if !errors.Is(err, row.want) || (row.want == nil) != (err == nil) {
				t.Fatalf("error %v, want %v", err, row.want)
			}
			if err != nil {
				if r.TweetID != "" || r.Body != nil {
					t.Error("something is handed over with an error")
				}
				for _, s := range by {
					if s != "" && strings.Contains(err.Error(), string(s)) {
						t.Error("the error shows a secret")
					}
				}
				return
			}
			if r.TweetID == "" || string(r.Body) != string(b) {
				t.Errorf("received %+v", r)
			}
			if withTrio := h.Get(deliver.HeaderStandardID) != ""; r.DeliveryID != "dlv_1" || r.SentAt.Equal(sentAt) != withTrio {
				t.Errorf("delivery %q, sent at %s", r.DeliveryID, r.SentAt)
			}
		})
	}
}

func byWebhook(id string) []deliver.Secret {
	return map[string][]deliver.Secret{"whk_1": {secret}, "whk_2": {newSecret}, "whk_empty": {""}}[id]
}

// The signed id goes before X-Delivery-Id, which anybody may have put there.
func TestVerifierTrustsTheSignedID(t *testing.T) {
	b := delivertest.Body(nil)
	h := signed(b, secret)
	h.Set(deliver.HeaderDeliveryID, "dlv_forged")
	if r, err := verifier(t, receive.Config{}).Verify(h.Get, b); err != nil || r.DeliveryID != "dlv_1" {
		t.Errorf("delivery %q, %v", r.DeliveryID, err)
	}
}

func TestVerifierBodies(t *testing.T) {
	v := verifier(t, receive.Config{MaxBody: 1000})
	var fe *deliver.FieldError
	long := withText(strings.Repeat("x", 1000))
	if _, err := v.Verify(signed(long, secret).Get, long); !errors.As(err, &fe) || fe.Wire != "body" {
		t.Errorf("a body too long: %v", err)
	}
	other := []byte(`{"event":"tweet.deleted"}`)
	if _, err := v.Verify(signed(other, secret).Get, other); !errors.As(err, &fe) || fe.Wire != "event" {
		t.Errorf("another event: %v", err)
	}
	v = verifier(t, receive.Config{RequireTimestamp: true})
	for _, text := range bodies {
		b := withText(strings.ToValidUTF8(text, "?"))
		if r, err := v.Verify(signed(b, secret).Get, b); err != nil || text != "" && r.TweetText != strings.ToValidUTF8(text, "?") {
			t.Errorf("text %.20q: got %.20q, %v", text, r.TweetText, err)
		}
	}
}

// Ten thousand requests with one bit flipped, each refused.
func TestVerifierRefusesOneBitMutations(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	v := verifier(t, receive.Config{})
	strict := verifier(t, receive.Config{RequireTimestamp: true, Now: time.Now}) // a moved timestamp could not pass for stale
	b := withText("Zażółć gęślą jaźń 🚀 <&>")
	parts := []string{"", deliver.HeaderStandardID, deliver.HeaderStandardTimestamp, deliver.HeaderStandardSignature, deliver.HeaderSignature}
	flip := func(s string) string {
		raw := []byte(s)
		raw[rnd.IntN(len(raw))] ^= 1 << rnd.IntN(8)
		return string(raw)
	}
	for i := range 10_000 {
		h, sent := signed(b, secret), b
		part := parts[i%len(parts)]
		if part == "" {
			sent = []byte(flip(string(b)))
		} else {
			h.Set(part, flip(h.Get(part)))
		}
		if part == deliver.HeaderSignature || i%2 == 0 && part == "" { // the trio would decide
			for _, name := range parts[1:4] {
				h.Del(name)
			}
		}
		for _, v := range []*receive.Verifier{v, strict} {
			if _, err := v.Verify(h.Get, sent); !errors.Is(err, receive.ErrSignature) {
				t.Fatalf("a bit of %q flipped (%q): %v", part, h, err)
			}
		}
	}
}

// FuzzVerifier: what is accepted is signed, the official library accepts it,
// too, and what we sign is accepted whatever stands beside it.
func FuzzVerifier(f *testing.F) {
	b := delivertest.Body(nil)
	good := deliver.SignStandard(secret, "dlv_1", sentAt, b)
	seconds := strconv.FormatInt(sentAt.Unix(), 10)
	f.Add("dlv_1", seconds, good, "")
	f.Add("dlv_1", seconds, "v1a,xx "+good+" v1,"+base64.StdEncoding.EncodeToString(make([]byte, 32)), "sha256=")
	f.Add("", "", "", deliver.Sign(secret, b))
	f.Add("a.b", "-1", "v1,,, v1", "sha256=00")
	f.Add("dlv_1", "1e9", good+"\n", "")
	wh, err := standardwebhooks.NewWebhook(string(secret))
	if err != nil {
		f.Fatal(err)
	}
	v := verifier(f, receive.Config{})
	f.Fuzz(func(t *testing.T, id, seconds, signatures, bare string) {
		h := http.Header{}
		h.Set(deliver.HeaderStandardID, id)
		h.Set(deliver.HeaderStandardTimestamp, seconds)
		h.Set(deliver.HeaderStandardSignature, signatures)
		h.Set(deliver.HeaderSignature, bare)
		_, err := v.Verify(h.Get, b)
		if err == nil {
			trio := id != "" || seconds != "" || signatures != ""
			if trio && wh.VerifyIgnoringTimestamp(b, h) != nil || !trio && bare != deliver.Sign(secret, b) {
				t.Fatalf("accepted: %q", h)
			}
		}
		if id == "" || len(id) > 256 || strings.Contains(id, ".") || len(signatures) > 4000 {
			return
		}
		h.Set(deliver.HeaderStandardTimestamp, strconv.FormatInt(sentAt.Unix(), 10))
		h.Set(deliver.HeaderStandardSignature, signatures+" "+deliver.SignStandard(secret, id, sentAt, b))
		if _, err := v.Verify(h.Get, b); err != nil {
			t.Fatalf("refused what is signed beside %q: %v", signatures, err)
		}
	})
}

func TestConfig(t *testing.T) {
	for name, cfg := range map[string]receive.Config{
		"no secrets":         {},
		"an empty secret":    {Secrets: []deliver.Secret{secret, ""}},
		"both ways":          {Secrets: []deliver.Secret{secret}, SecretsFor: byWebhook},
		"negative tolerance": {Secrets: []deliver.Secret{secret}, Tolerance: -1},
		"negative body":      {Secrets: []deliver.Secret{secret}, MaxBody: -1},
	} {
		if _, err := receive.NewVerifier(cfg); err == nil || !strings.HasPrefix(err.Error(), "receive: ") || strings.Contains(err.Error(), string(secret)) {
			t.Errorf("%s: %v", name, err)
		}
	}
	v := verifier(t, receive.Config{})
	for _, verb := range []string{"%v", "%+v", "%#v", "%s"} {
		if s := fmt.Sprintf(verb, v); strings.Contains(s, string(secret)) {
			t.Errorf("%s shows the secret: %s", verb, s)
		}
	}
}

func BenchmarkVerifier(b *testing.B) {
	payload := delivertest.Body(nil)
	h := signed(payload, newSecret, secret)
	v := verifier(b, receive.Config{})
	b.ReportAllocs()
	for b.Loop() {
		if _, err := v.Verify(h.Get, payload); err != nil {
			b.Fatal(err)
		}
	}
}
