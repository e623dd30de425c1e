package deliver_test

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/streamwatch/streamwatch/deliver"
)

const (
	secret = deliver.Secret("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLASw")
	body   = `{"event":"tweet.detected"}`
	// Of body by secret.
	signature = "sha256=87332c9fe0d198b935feb7b6db9495b574e1cf9d13c89ba2da664914441e2ffd"
)

// The vectors are those of RFC 4231 and others computed with openssl and with
// Python's hmac.
func TestSign(t *testing.T) {
	tests := []struct {
		name         string
		secret, body string
		want         string
	}{
		{"the whole secret is the key", string(secret), body, signature},
		{"empty body", "what do ya want for nothing?", "", "sha256=1e837bc732891d88569e07296612c909d409fc44465afe72a08041ecb169304a"},
		{"RFC 4231 case 1", strings.Repeat("\x0b", 20), "Hi There", "sha256=b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"},
		{"RFC 4231 case 2", "Jefe", "what do ya want for nothing?", "sha256=5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"},
		{"longest secret, any bytes", strings.Repeat("k", 128), "<&> é 🧵\u2028\x00\xff", "sha256=576dc4ece02b717ed2e8714f3613b604d2d7875e8fb2295388d70a418f6a7a2a"},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			got := deliver.Sign(deliver.Secret(tc.secret), []byte(tc.body))
			if got != tc.want {
				t.Errorf("Sign = %s, want %s", got, tc.want)
			}
			if !deliver.Verify(deliver.Secret(tc.secret), []byte(tc.body), tc.want) {
				t.Error("Verify refuses the signature")
			}
		})
	}
}

func TestVerifyRefuses(t *testing.T) {
	digits := strings.TrimPrefix(signature, "sha256=")
	raw, err := hex.DecodeString(digits)
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name         string
		secret       deliver.Secret
		body, header string
	}{
		{"another secret", secret + "x", body, signature},
		{"the secret without its prefix", secret[len("whsec_"):], body, signature},
		{"another body", secret, body + "\n", signature},
		{"no header", secret, body, ""},
		{"only the prefix", secret, body, "sha256="},
		{"no prefix", secret, body, digits},
		{"prefix in capitals", secret, body, "SHA256=" + digits},
		{"another algorithm", secret, body, "sha1=" + digits},
		{"digits in capitals", secret, body, "sha256=" + strings.ToUpper(digits)},
		{"not hex", secret, body, "sha256=" + strings.Repeat("g", 64)},
		{"cut short", secret, body, signature[:len(signature)-2]},
		{"too long", secret, body, signature + "00"},
		{"space around", secret, body, " " + signature},
		{"twice", secret, body, signature + "," + signature},
		{"base64", secret, body, "sha256=" + base64.StdEncoding.EncodeToString(raw)},
		{"empty secret", "", body, deliver.Sign("", []byte(body))},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			if deliver.Verify(tc.secret, []byte(tc.body), tc.header) {
				t.Error("accepted")
			}
		})
	}
}

// FuzzVerify: only Sign's own output is accepted.
func FuzzVerify(f *testing.F) {
	f.Add(string(secret), []byte(body), signature)
	f.Add("", []byte{}, "sha256=")
	f.Add("x", []byte("y"), strings.ToUpper(signature))
	f.Fuzz(func(t *testing.T, key string, b []byte, header string) {
		own := deliver.Sign(deliver.Secret(key), b)
		if got, want := deliver.Verify(deliver.Secret(key), b, header), key != "" && header == own; got != want {
			t.Fatalf("Verify(%q, %q, %q) = %v, want %v", key, b, header, got, want)
		}
		if deliver.Verify(deliver.Secret(key), b, own) != (key != "") {
			t.Fatalf("own signature of %q judged wrongly", b)
		}
	})
}

func TestGenerateSecret(t *testing.T) {
	seen := map[deliver.Secret]bool{}
	for range 100 {
		s := deliver.GenerateSecret()
		raw, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(string(s), "whsec_"))
		if err != nil || len(raw) != 32 || !strings.HasPrefix(string(s), "whsec_") {
			t.Fatalf("%q: want whsec_ and 32 bytes in base64 (%v)", string(s), err)
		}
		if err := deliver.CheckSecret(s); err != nil {
			t.Fatal(err)
		}
		if seen[s] {
			t.Fatal("the same secret twice")
		}
		seen[s] = true
	}
}

func TestCheckSecret(t *testing.T) {
	tests := []struct {
		name, secret string
		ok           bool
	}{
		{"24 characters", strings.Repeat("a", 24), true},
		{"128 characters", strings.Repeat("~", 128), true},
		{"all punctuation", "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~", true},
		{"empty", "", false},
		{"23 characters", strings.Repeat("a", 23), false},
		{"129 characters", strings.Repeat("a", 129), false},
		{"space", "canary canary canary canary", false},
		{"tab", "canary\tcanary-canary-canary", false},
		{"newline at the end", "canary-canary-canary-canary\n", false},
		{"NUL", "canary\x00canary-canary-canary", false},
		{"DEL", "canary\x7fcanary-canary-canary", false},
		{"not ASCII", "canary-é-canary-canary-canary", false},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			err := deliver.CheckSecret(deliver.Secret(tc.secret))
			if (err == nil) != tc.ok {
				t.Fatalf("error %v, want ok %v", err, tc.ok)
			}
			var fe *deliver.FieldError
			if !tc.ok && (!errors.As(err, &fe) || fe.Wire != "webhook_secret" || fe.Value != "***") {
				t.Errorf("error %#v, want a FieldError of webhook_secret with the value ***", err)
			}
			if !tc.ok && strings.Contains(err.Error(), "canary") {
				t.Errorf("the error shows the secret: %v", err)
			}
		})
	}
}

func TestSecretPrintsAsStars(t *testing.T) {
	e := deliver.Endpoint{ID: "whk_1", Secret: secret}
	var prints []string
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d"} {
		prints = append(prints, fmt.Sprintf(verb, secret), fmt.Sprintf(verb, e), fmt.Sprintf(verb, deliver.Delivery{Endpoint: e}))
	}
	asJSON, err := json.Marshal(e)
	if err != nil {
		t.Fatal(err)
	}
	asText, err := secret.MarshalText()
	if err != nil {
		t.Fatal(err)
	}
	var lines bytes.Buffer
	slog.New(slog.NewJSONHandler(&lines, nil)).Info("x", "secret", secret, "endpoint", e)
	slog.New(slog.NewTextHandler(&lines, nil)).Info("x", "secret", secret, "endpoint", e)
	prints = append(prints, string(asJSON), string(asText), lines.String())
	for _, p := range prints {
		if strings.Contains(p, string(secret)) || strings.Contains(strings.ToLower(p), hex.EncodeToString([]byte(secret))) {
			t.Errorf("the secret shows in %s", p)
		}
		if !strings.Contains(p, "***") {
			t.Errorf("no *** in %s", p)
		}
	}
}

func BenchmarkSign(b *testing.B) {
	payload := edited(nil)
	b.ReportAllocs()
	b.SetBytes(int64(len(payload)))
	for b.Loop() {
		deliver.Sign(secret, payload)
	}
}
