package apikey

import (
	"crypto/rand"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/streamwatch/streamwatch/internal/invalid"
)

const (
	maxOwner = 128 // bytes
	maxName  = 100 // characters
	maxTier  = 100 // characters
	maxRate  = 1_000_000
)

func check(r *IssueRequest, now time.Time) error {
	switch {
	case len(r.Owner) > maxOwner || !invalid.Printable(r.Owner):
		return invalid.Field("apikey", "owner", r.Owner, "at most 128 bytes of printable text")
	case !invalid.Name(r.Name, maxName):
		return invalid.Field("apikey", "name", r.Name, "1 to 100 printable characters")
	case utf8.RuneCountInString(r.Tier) > maxTier || !invalid.Printable(r.Tier):
		return invalid.Field("apikey", "tier", r.Tier, "at most 100 printable characters")
	case r.RatePerMinute < 0 || r.RatePerMinute > maxRate:
		return invalid.Field("apikey", "rate_per_minute", fmt.Sprint(r.RatePerMinute), fmt.Sprintf("0 to %d", maxRate))
	case r.Scope != "" && r.Scope != ScopeRead && r.Scope != ScopeWrite && r.Scope != ScopeAdmin:
		return invalid.Field("apikey", "scope", string(r.Scope), "read, write or admin")
	case !r.ExpiresAt.IsZero() && !r.ExpiresAt.After(now):
		return invalid.Field("apikey", "expires_at", r.ExpiresAt.Format(time.RFC3339), "a time to come, or none")
	}
	return nil
}

func newID() string { return "key_" + strings.ToLower(rand.Text()) }
