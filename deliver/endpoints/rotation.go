package endpoints

import (
	"fmt"
	"slices"
	"time"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/internal/invalid"
)

// DefaultOverlap is how long a replaced secret stays valid.
const DefaultOverlap = 24 * time.Hour

const (
	maxOverlap    = 7 * 24 * time.Hour
	maxOldSecrets = 10 // old secrets valid at the same time, in addition to the new one
)

func (u *Update) overlap() time.Duration {
	if u.Overlap == nil {
		return DefaultOverlap
	}
	return *u.Overlap
}

func (u *Update) checkSecret() error {
	d := u.overlap()
	switch {
	case u.Secret == nil && u.Overlap != nil:
		return invalid.Field("deliver", "overlap", d.String(), "none without a new secret")
	case d < 0 || d > maxOverlap:
		return invalid.Field("deliver", "overlap", d.String(), "0s to "+maxOverlap.String())
	case u.Secret == nil || *u.Secret == "":
		return nil
	}
	return deliver.CheckSecret(*u.Secret)
}

// rotate makes key the endpoint's secret, and moves the present secret to the old ones. If key
// is one of the old ones, it is removed from them.
func rotate(e *deliver.Endpoint, key deliver.Secret, overlap time.Duration, now time.Time) error {
	until := now.Add(overlap)
	var old []deliver.OldSecret
	for _, o := range slices.Concat([]deliver.OldSecret{{Secret: e.Secret, Until: until}}, e.OldSecrets) {
		if o.Until.After(until) {
			o.Until = until
		}
		if o.Until.After(now) && o.Secret != key {
			old = append(old, o)
		}
	}
	if len(old) > maxOldSecrets {
		return invalid.Field("deliver", "webhook_secret", fmt.Sprintf("rotation with %d old secrets", len(old)),
			fmt.Sprintf("at most %d that are valid: wait until one ends, or rotate without an overlap", maxOldSecrets))

	}
	e.Secret, e.OldSecrets = key, old
	return nil
}

// expire drops the old secrets that are no longer valid.
func expire(e *deliver.Endpoint, now time.Time) {
	e.OldSecrets = slices.DeleteFunc(slices.Clone(e.OldSecrets), func(o deliver.OldSecret) bool { return !now.Before(o.Until) })
}
