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
	now := func() time.Time { return time.Now().Add(ahead) }
	m := manager(b, apikey.Config{Records: memory.New(memory.Options{}).Ports().Records, Now: now})
	expired, err := m.Issue(b.Context(), apikey.IssueRequest{Owner: "acme", Name: "n", ExpiresAt: now().Add(time.Hour)})
	must(b, err)
	revoked := issue(b, m)
	revoke(b, m, revoked.ID)
	ahead = 2 * time.Hour
	unknown := issue(b, newOffice(b, 0).Manager).Secret
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
