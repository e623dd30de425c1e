package apikey_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/apikey"
	"github.com/streamwatch/streamwatch/secret"
	"github.com/streamwatch/streamwatch/storage/memory"
)

// BenchmarkRefusal compares how long the refusals of keys take, as an advice: a
// key of 256 random bits is not found by timing. One that is malformed is refused
// without the store; one that is known is remembered for a second.
func BenchmarkRefusal(b *testing.B) {
	var ahead time.Duration
	manager := func() *apikey.Manager {
		now := func() time.Time { return time.Now().Add(ahead) }
		m, err := apikey.NewManager(apikey.Config{Store: memory.New(memory.Options{}).Keys(), Now: now})
		if err != nil {
			b.Fatal(err)
		}
		return m
	}
	m := manager()
	issue := func(m *apikey.Manager, expires time.Time) apikey.Issued {
		k, err := m.Issue(b.Context(), apikey.IssueRequest{Owner: "acme", Name: "n", ExpiresAt: expires})
		if err != nil {
			b.Fatal(err)
		}
		return k
	}
	expired, revoked := issue(m, time.Now().Add(time.Hour)), issue(m, time.Time{})
	if _, err := m.Revoke(b.Context(), "acme", revoked.ID); err != nil {
		b.Fatal(err)
	}
	ahead = 2 * time.Hour
	unknown := issue(manager(), time.Time{}).Secret
	for _, row := range []struct {
		name string
		key  secret.Value
	}{
		{"missing", ""}, {"malformed", secret.Value("sw_live_" + strings.Repeat("z", 49))}, {"wrong-checksum", unknown[:len(unknown)-1] + "_"},
		{"unknown", unknown}, {"expired", expired.Secret}, {"revoked", revoked.Secret},
	} {
		b.Run(row.name, func(b *testing.B) {
			for b.Loop() {
				if _, err := m.Authenticate(b.Context(), row.key); !errors.Is(err, apikey.ErrInvalid) {
					b.Fatalf("%v, want apikey.ErrInvalid", err)
				}
			}
		})
	}
}
