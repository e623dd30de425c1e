package endpoints_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/deliver/endpoints"
	"github.com/streamwatch/streamwatch/deliver/webhook"
)

// accepted tells which of the secrets, by index, a receiver can verify with.
func accepted(h http.Header, b string, secrets []deliver.Secret) (trio, bare []int) {
	for i, s := range secrets {
		if wh, err := standardwebhooks.NewWebhook(string(s)); err == nil && wh.VerifyIgnoringTimestamp([]byte(b), h) == nil {
			trio = append(trio, i)
		}
		if deliver.Verify(s, []byte(b), h.Get(deliver.HeaderSignature)) {
			bare = append(bare, i)
		}
	}
	return trio, bare
}

// rotating is a manager whose endpoint is sent to by hand, and every secret the
// endpoint ever had.
type rotating struct {
	t       *testing.T
	m       *endpoints.Manager
	b       *bench
	id      string
	secrets []deliver.Secret
}

func newRotating(t *testing.T) *rotating {
	m, b := newManager(t, nil)
	e, err := m.Create(t.Context(), endpoints.NewEndpoint{Source: src("a"), URL: "https://one.example.com/"})
	if err != nil {
		t.Fatal(err)
	}
	return &rotating{t, m, b, e.ID, []deliver.Secret{e.Secret}}
}

func (r *rotating) rotate(overlap *time.Duration) error {
	e, err := r.m.Update(r.t.Context(), "o", r.id, endpoints.Update{Secret: new(deliver.Secret), Overlap: overlap})
	if err == nil {
		r.secrets = append(r.secrets, e.Secret)
	}
	return err
}

// verifies says, as "trio/bare", which secrets verify a request made now.
func (r *rotating) verifies() string {
	r.t.Helper()
	e, err := r.b.stored().Get(r.t.Context(), "o", r.id)
	if err != nil {
		r.t.Fatal(err)
	}
	var got string
	hook := newSender(r.t, webhook.Config{Transport: roundTrip(func(req *http.Request) (*http.Response, error) {
		trio, bare := accepted(req.Header, body, r.secrets)
		got = fmt.Sprint(trio, bare)
		return answer(200, "")(req)
	})})
	d := delivery(e.URL)
	d.Endpoint = e
	hook.Send(r.t.Context(), d)
	return got
}

func TestRotationOverlap(t *testing.T) {
	hour := func(n float64) *time.Duration { return ptr(time.Duration(n * float64(time.Hour))) }
	type step struct {
		at     time.Duration // since the creation
		rotate bool
		by     *time.Duration
		want   string // secrets that verify with the trio, and with X-Signature-256
	}
	for _, row := range []struct {
		name  string
		steps []step
	}{
		{"by default the old one is valid for 24 h", []step{
			{0, false, nil, "[0] [0]"},
			{time.Hour, true, nil, "[0 1] [0]"},
			{25*time.Hour - time.Nanosecond, false, nil, "[0 1] [0]"},
			{25 * time.Hour, false, nil, "[1] [1]"},
		}},
		{"an overlap of one's own", []step{
			{0, true, hour(2), "[0 1] [0]"},
			{2*time.Hour - time.Nanosecond, false, nil, "[0 1] [0]"},
			{2 * time.Hour, false, nil, "[1] [1]"},
		}},
		{"none at all", []step{
			{0, true, hour(0), "[1] [1]"},
		}},
		{"two rotations in one overlap: each keeps its time", []step{
			{0, true, nil, "[0 1] [0]"},
			{12 * time.Hour, true, nil, "[0 1 2] [0]"},
			{24 * time.Hour, false, nil, "[1 2] [1]"},
			{36 * time.Hour, false, nil, "[2] [2]"},
		}},
		{"a shorter overlap ends the older ones with it", []step{
			{0, true, nil, "[0 1] [0]"},
			{time.Hour, true, hour(1), "[0 1 2] [0]"},
			{2 * time.Hour, false, nil, "[2] [2]"},
		}},
		{"after a leak everything old ends at once", []step{
			{0, true, nil, "[0 1] [0]"},
			{time.Hour, true, nil, "[0 1 2] [0]"},
			{2 * time.Hour, true, hour(0), "[3] [3]"},
		}},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRotating(t)
				began := time.Now()
				for _, s := range row.steps {
					pass(time.Until(began.Add(s.at)))
					if s.rotate {
						if err := r.rotate(s.by); err != nil {
							t.Fatal(err)
						}
					}
					if got := r.verifies(); got != s.want {
						t.Errorf("after %s: verified by %s, want %s", s.at, got, s.want)
					}
				}
			})
		})
	}
}

func TestRotationIsBounded(t *testing.T) {
	r := newRotating(t)
	for range 10 {
		if err := r.rotate(nil); err != nil {
			t.Fatal(err)
		}
	}
	before := r.verifies()
	var fe *deliver.FieldError
	if err := r.rotate(nil); !errors.As(err, &fe) || !strings.Contains(fe.Allowed, "at most 10") {
		t.Errorf("an eleventh old secret: %v", err)
	}
	if got := r.verifies(); got != before {
		t.Errorf("refused, and verified by %s, before by %s", got, before)
	}
	if err := r.rotate(ptr(time.Duration(0))); err != nil {
		t.Errorf("without overlap: %v", err)
	}
}

func TestRotationRefuses(t *testing.T) {
	r := newRotating(t)
	for _, row := range []struct {
		name, field string
		update      endpoints.Update
	}{
		{"a negative overlap", "overlap", endpoints.Update{Secret: new(deliver.Secret), Overlap: ptr(-time.Nanosecond)}},
		{"an overlap of more than 7 days", "overlap", endpoints.Update{Secret: new(deliver.Secret), Overlap: ptr(7*24*time.Hour + 1)}},
		{"an overlap of nothing", "overlap", endpoints.Update{Overlap: ptr(time.Hour)}},
		{"a secret of 23 characters", "webhook_secret", endpoints.Update{Secret: ptr(deliver.Secret("canary-canary-canary-ca"))}},
	} {
		var fe *deliver.FieldError
		if _, err := r.m.Update(t.Context(), "o", r.id, row.update); !errors.As(err, &fe) || fe.Wire != row.field || strings.Contains(err.Error(), "canary") {
			t.Errorf("%s: %v", row.name, err)
		}
	}
}

// Going back to the secret before makes it the newest, and valid for ever.
func TestRotationBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRotating(t)
		if err := r.rotate(nil); err != nil {
			t.Fatal(err)
		}
		if _, err := r.m.Update(t.Context(), "o", r.id, endpoints.Update{Secret: &r.secrets[0]}); err != nil {
			t.Fatal(err)
		}
		if got := r.verifies(); got != "[0 1] [1]" {
			t.Errorf("verified by %s", got)
		}
		pass(48 * time.Hour)
		if got := r.verifies(); got != "[0] [0]" {
			t.Errorf("later verified by %s", got)
		}
		if _, err := r.m.Update(t.Context(), "o", r.id, endpoints.Update{}); err != nil {
			t.Fatal(err)
		}
		if e, err := r.b.stored().Get(t.Context(), "o", r.id); err != nil || len(e.OldSecrets) != 0 {
			t.Errorf("a change keeps secrets that have expired: %v", err)
		}
	})
}

func TestRotateSecretShowsItOnce(t *testing.T) {
	r := newRotating(t)
	e, err := r.m.RotateSecret(t.Context(), "o", r.id)
	if err != nil || e.Secret == r.secrets[0] || deliver.CheckSecret(e.Secret) != nil || e.OldSecrets[0].Secret != "" {
		t.Errorf("RotateSecret: %v", err)
	}
	if e, err = r.m.Get(t.Context(), "o", r.id); err != nil || e.Secret != "" || len(e.OldSecrets) != 1 || e.OldSecrets[0].Secret != "" || e.OldSecrets[0].Until.IsZero() {
		t.Errorf("Get: %+v, %v", e, err)
	}
}
