package endpoints_test

import (
	"context"
	"encoding/base64"
	"fmt"
	"strings"
	"testing"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/deliver/endpoints"
)

// sealKey is a key whose bytes are all b.
func sealKey(id string, b byte) endpoints.SealKey {
	return endpoints.SealKey{ID: id, Key: deliver.Secret(base64.StdEncoding.EncodeToString([]byte(strings.Repeat(string(b), 32))))}
}

func newSealer(t *testing.T, keys ...endpoints.SealKey) *endpoints.AESSealer {
	t.Helper()
	s, err := endpoints.NewAESSealer(keys...)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestAESSealer(t *testing.T) {
	ctx := context.Background()
	k1, k2, other := sealKey("k1", 'a'), sealKey("k2", 'b'), sealKey("k1", 'c')
	const plain, place = "whsec_canary", "whk_1"
	sealed, err := newSealer(t, k1).Seal(ctx, []byte(plain), place)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(sealed, "canary") || !strings.HasPrefix(sealed, "k1:") {
		t.Errorf("sealed as %q", sealed)
	}
	if again, err := newSealer(t, k1).Seal(ctx, []byte(plain), place); err != nil || again == sealed {
		t.Errorf("the same value twice gives the same text: the nonce is not random (%v)", err)
	}
	for _, row := range []struct {
		name   string
		keys   []endpoints.SealKey
		sealed string
		place  string
		err    string // part of it, "" if it opens
	}{
		{"with its key", []endpoints.SealKey{k1}, sealed, place, ""},
		{"with a newer key beside it", []endpoints.SealKey{k2, k1}, sealed, place, ""},
		{"without its key", []endpoints.SealKey{k2}, sealed, place, `sealed with key "k1", which is not there: want one of ["k2"]`},
		{"with another key of the same id", []endpoints.SealKey{other}, sealed, place, "it was changed, or sealed for another place"},
		{"for another place", []endpoints.SealKey{k1}, sealed, "whk_2", "it was changed, or sealed for another place"},
		{"cut short", []endpoints.SealKey{k1}, sealed[:len(sealed)-4], place, `key "k1"`},
		{"nothing but the key", []endpoints.SealKey{k1}, "k1:", place, "it was changed"},
		{"not base64", []endpoints.SealKey{k1}, "k1:***", place, "not base64"},
		{"without a key id", []endpoints.SealKey{k1}, plain, place, "it was sealed with key"},
		{"not sealed", []endpoints.SealKey{k1}, "whsec+canary", place, "it has no key id"},
		{"nothing", []endpoints.SealKey{k1}, "", place, "it has no key id"},
	} {
		t.Run(row.name, func(t *testing.T) {
			got, err := newSealer(t, row.keys...).Open(ctx, row.sealed, row.place)
			if row.err == "" {
				if err != nil || string(got) != plain {
					t.Errorf("%q, %v", got, err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), row.err) {
				t.Errorf("error %v, want %q", err, row.err)
			}
		})
	}
	for i := range len(sealed) * 8 {
		b := []byte(sealed)
		b[i/8] ^= 1 << (i % 8)
		if got, err := newSealer(t, k1).Open(ctx, string(b), place); err == nil {
			t.Fatalf("opens as %q with bit %d flipped", got, i)
		}
	}
}

func TestAESSealerRefusesKeys(t *testing.T) {
	good := sealKey("k1", 'a')
	for name, keys := range map[string][]endpoints.SealKey{
		"none":               nil,
		"no id":              {{Key: good.Key}},
		"an id with a colon": {{ID: "a:b", Key: good.Key}},
		"an id in capitals":  {{ID: "K1", Key: good.Key}},
		"an id too long":     {{ID: strings.Repeat("k", 33), Key: good.Key}},
		"one id twice":       {good, sealKey("k1", 'b')},
		"no key":             {{ID: "k1"}},
		"16 bytes":           {{ID: "k1", Key: "Y2FuYXJ5Y2FuYXJ5Y2FuYQ=="}},
		"no base64":          {{ID: "k1", Key: "canarycanarycanarycanarycanaryca"}},
		"a second, bad one":  {good, {ID: "k2", Key: "canary"}},
	} {
		if _, err := endpoints.NewAESSealer(keys...); err == nil || !strings.Contains(err.Error(), "want") || strings.Contains(err.Error(), "canary") {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%x"} {
		s := fmt.Sprintf(verb, newSealer(t, good))
		if strings.Contains(s, "aaaa") || strings.Contains(s, "6161") || strings.Contains(s, "97 97") || strings.Contains(s, string(good.Key)) {
			t.Errorf("%s shows a key: %s", verb, s)
		}
	}
}
