package poster

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/streamwatch/streamwatch/cmd/streamwatch/internal/latencybench/fakeserver"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fake serves a foreign platform, and notes what it is asked.
func fake(t *testing.T, answer func(r *http.Request, body string) (int, string)) (url string, client *http.Client, asked *[]string) {
	t.Helper()
	asked = new([]string)
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		*asked = append(*asked, r.Method+" "+r.URL.Path)
		code, text := answer(r, string(b))
		w.WriteHeader(code)
		io.WriteString(w, text)
	}))
	t.Cleanup(func() {
		web.Client().CloseIdleConnections()
		web.Close()
	})
	return web.URL, web.Client(), asked
}

func TestMastodon(t *testing.T) {
	full := false
	url, client, asked := fake(t, func(r *http.Request, body string) (int, string) {
		if r.Header.Get("Authorization") != "Bearer my-token" {
			return 401, `{"error":"The access token is invalid"}`
		}
		switch {
		case r.URL.Path == "/api/v1/accounts/verify_credentials":
			return 200, `{"id":"7","acct":"ann"}`
		case full:
			return 429, `{"error":"Too many requests by my-token"}`
		case r.Method == http.MethodPost:
			r.Body = io.NopCloser(strings.NewReader(body))
			if r.FormValue("status") != "swb-1 text" || r.FormValue("visibility") != "unlisted" || r.Header.Get("Idempotency-Key") != "swb-1 text" {
				t.Errorf("posted %s with %v", body, r.Header)
			}
			return 200, `{"id":"114","created_at":"2026-11-23T12:00:00.123Z"}`
		}
		return 200, `{}`
	})
	if _, err := NewMastodon(t.Context(), MastodonConfig{Server: url, Token: "wrong", Visibility: "unlisted", HTTP: client}); err == nil || !strings.Contains(err.Error(), "401") {
		t.Errorf("error %v with a wrong token, want 401", err)
	}
	m, err := NewMastodon(t.Context(), MastodonConfig{Server: url + "/", Token: "my-token", Visibility: "unlisted", HTTP: client})
	if err != nil {
		t.Fatal(err)
	}
	got, err := m.Post(t.Context(), 0, "swb-1 text")
	if want := (Posted{"114", time.Date(2026, 11, 23, 12, 0, 0, 123e6, time.UTC)}); err != nil || got != want {
		t.Errorf("posted %+v, %v; want %+v", got, err, want)
	}
	if err := m.Delete(t.Context(), got.ID); err != nil {
		t.Error(err)
	}
	full = true
	if _, err = m.Post(t.Context(), 0, "swb-1 text"); err == nil || !strings.Contains(err.Error(), "429") || strings.Contains(err.Error(), "my-token") {
		t.Errorf("error %v, want one with 429 and without the token", err)
	}
	want := "GET /api/v1/accounts/verify_credentials, GET /api/v1/accounts/verify_credentials, POST /api/v1/statuses, DELETE /api/v1/statuses/114, POST /api/v1/statuses"
	if text := strings.Join(*asked, ", "); text != want {
		t.Errorf("asked %s, want %s: nothing is tried twice", text, want)
	}
	if shown := fmt.Sprintf("%+v", m); strings.Contains(shown, "my-token") {
		t.Errorf("%s shows the token", shown)
	}
	if got := m.Accounts(); len(got) != 1 || got[0] != "ann" {
		t.Errorf("posts as %v, want ann", got)
	}
}

func TestBluesky(t *testing.T) {
	sessions := 0
	url, client, asked := fake(t, func(r *http.Request, body string) (int, string) {
		var in struct {
			Identifier, Password, Repo, Collection, Rkey string
			Record                                       struct{ Text, CreatedAt string }
		}
		if err := json.Unmarshal([]byte(body), &in); err != nil {
			t.Error(err)
		}
		if strings.HasSuffix(r.URL.Path, "createSession") {
			if in.Identifier != "ann.example" || in.Password != "app-password" {
				return 401, `{"error":"AuthenticationRequired"}`
			}
			sessions++
			return 200, fmt.Sprintf(`{"did":"did:plc:ann","accessJwt":"token%d"}`, sessions)
		}
		if r.Header.Get("Authorization") != "Bearer token2" { // the first has expired
			return 400, `{"error":"ExpiredToken","message":"Token has expired"}`
		}
		if in.Repo != "did:plc:ann" || in.Collection != "app.bsky.feed.post" {
			t.Errorf("%s of %s in %s", r.URL.Path, in.Collection, in.Repo)
		}
		if strings.HasSuffix(r.URL.Path, "deleteRecord") {
			if in.Rkey != "3jzfcijpj2z2a" {
				t.Errorf("deleted %s", in.Rkey)
			}
			return 200, `{}`
		}
		if _, err := time.Parse(time.RFC3339, in.Record.CreatedAt); err != nil || in.Record.Text != "swb-1 text" {
			t.Errorf("record %+v, %v", in.Record, err)
		}
		return 200, `{"uri":"at://did:plc:ann/app.bsky.feed.post/3jzfcijpj2z2a","cid":"x"}`
	})
	if _, err := NewBluesky(t.Context(), BlueskyConfig{Server: url, Handle: "ann.example", Password: "wrong", HTTP: client}); err == nil || !strings.Contains(err.Error(), "401") {
		t.Errorf("error %v with a wrong password, want 401", err)
	}
	b, err := NewBluesky(t.Context(), BlueskyConfig{Server: url, Handle: "ann.example", Password: "app-password", HTTP: client})
	if err != nil {
		t.Fatal(err)
	}
	got, err := b.Post(t.Context(), 0, "swb-1 text")
	// The time in this key is that of the specification's examples: 2023-06-30.
	if want := "at://did:plc:ann/app.bsky.feed.post/3jzfcijpj2z2a"; err != nil || got.ID != want || got.At.Format("2006-01-02") != "2023-06-30" {
		t.Errorf("posted %+v, %v; want %s of 2023-06-30", got, err, want)
	}
	if err := b.Delete(t.Context(), got.ID); err != nil {
		t.Error(err)
	}
	if n := len(*asked); n != 6 || sessions != 2 {
		t.Errorf("%d calls, %d sessions: want 6 and 2: %v", n, sessions, *asked)
	}
	if shown := fmt.Sprintf("%+v", b); strings.Contains(shown, "app-password") || strings.Contains(shown, "token2") {
		t.Errorf("%s shows a secret", shown)
	}
}

func TestTIDTime(t *testing.T) {
	for key, want := range map[string]string{
		"3jzfcijpj2z2a": "2023-06-30", "2222222222222": "1970-01-01", "self": "0001-01-01", "3jzfcijpj2z2!": "0001-01-01",
	} {
		if got := tidTime(key).Format("2006-01-02"); got != want {
			t.Errorf("%s is of %s, want %s", key, got, want)
		}
	}
}

// A token is not sent on to where a redirect leads.
func TestRedirectsAreNotFollowed(t *testing.T) {
	web := httptest.NewServer(http.RedirectHandler("/elsewhere", http.StatusTemporaryRedirect))
	defer web.Close()
	asked := 0
	client := &http.Client{Transport: counted(func(r *http.Request) (*http.Response, error) {
		asked++
		return web.Client().Transport.RoundTrip(r)
	})}
	_, err := NewMastodon(t.Context(), MastodonConfig{Server: web.URL, Token: "x", Visibility: "public", HTTP: client})
	if err == nil || !strings.Contains(err.Error(), "307") || asked != 1 {
		t.Errorf("error %v after %d requests, want 307 after one", err, asked)
	}
}

type counted func(*http.Request) (*http.Response, error)

func (f counted) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestAnswersWithoutID(t *testing.T) {
	url, client, _ := fake(t, func(r *http.Request, _ string) (int, string) { return 200, `{"did":"d","accessJwt":"t"}` })
	m, err := NewMastodon(t.Context(), MastodonConfig{Server: url, Token: "x", Visibility: "public", HTTP: client})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.Post(t.Context(), 0, "text"); !errors.Is(err, errNoID) {
		t.Errorf("mastodon: error %v, want %v", err, errNoID)
	}
	b, err := NewBluesky(t.Context(), BlueskyConfig{Server: url, Handle: "ann", Password: "x", HTTP: client})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.Post(t.Context(), 0, "text"); !errors.Is(err, errNoID) {
		t.Errorf("bluesky: error %v, want %v", err, errNoID)
	}
}

func TestSettingsThatAreRefused(t *testing.T) {
	for _, server := range []string{"", "mastodon.example", "ftp://mastodon.example", "https://user:password@mastodon.example", "https://mastodon.example?x=1"} {
		if _, err := NewMastodon(t.Context(), MastodonConfig{Server: server, Token: "x", Visibility: "public"}); err == nil || !strings.Contains(err.Error(), "is not allowed") {
			t.Errorf("server %q: error %v", server, err)
		}
	}
	for name, err := range map[string]error{
		"token is missing": second(NewMastodon(t.Context(), MastodonConfig{Server: "https://mastodon.example", Visibility: "public"})),
		"visibility":       second(NewMastodon(t.Context(), MastodonConfig{Server: "https://mastodon.example", Token: "x", Visibility: "direct"})),
		"app password":     second(NewBluesky(t.Context(), BlueskyConfig{Server: "https://bsky.example", Handle: "ann"})),
		"{text}":           second(NewCommand("toot post", time.Minute)),
		"gap":              second(NewCommand("toot post {text}", time.Millisecond)),
	} {
		if err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("error %v, want one that names %s", err, name)
		}
	}
}

func second[T any](_ T, err error) error { return err }

func TestCommand(t *testing.T) {
	c, err := NewCommand("echo id of {text}", time.Second)
	if err != nil {
		t.Fatal(err)
	}
	got, err := c.Post(t.Context(), 0, "swb-1 text")
	if err != nil || got.ID != "id of swb-1 text" || !got.At.IsZero() {
		t.Errorf("posted %+v, %v", got, err)
	}
	failing, err := NewCommand("echo {text} >&2 && exit 3", time.Second)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := failing.Post(t.Context(), 0, "swb-1"); err == nil || !strings.Contains(err.Error(), "3: swb-1") {
		t.Errorf("error %v, want the exit status and what was said", err)
	}
	if err := c.Delete(t.Context(), "x"); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("error %v of Delete", err)
	}
}

func TestFake(t *testing.T) {
	f := Fake{Server: fakeserver.New(3, 1)}
	got, err := f.Post(t.Context(), 2, "text")
	if err != nil || got.ID == "" || got.At.IsZero() || len(f.Accounts()) != 3 {
		t.Errorf("posted %+v, %v", got, err)
	}
	if err := f.Delete(t.Context(), got.ID); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("error %v of Delete", err)
	}
}

// What a run may ask of others stays below what they allow.
func TestLimits(t *testing.T) {
	for name, l := range map[string]Limits{"mastodon": (*Mastodon)(nil).Limits(), "bluesky": (*Bluesky)(nil).Limits(), "command": (&Command{gap: time.Second}).Limits()} {
		if l.Gap < time.Second || l.Posts > 1000 || l.Deleted > l.Posts || l.InFlight < 2 {
			t.Errorf("%s: %+v", name, l)
		}
	}
	if l := (*Mastodon)(nil).Limits(); l.Posts > 300 || l.Deleted > 30 {
		t.Errorf("mastodon: %+v is more than the server allows", l)
	}
}
