package enginehttp_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/streamwatch/streamwatch/apikey"
	"github.com/streamwatch/streamwatch/secret"
	"github.com/streamwatch/streamwatch/storage/memory"
)

// Whatever is wrong with a key, the answer is the same, byte by byte: it does not
// tell whether the key was ever issued.
func TestInvalidKeysAreAnsweredAlike(t *testing.T) {
	w := newWorld(t)
	elsewhere, err := apikey.NewManager(apikey.Config{Records: memory.New(memory.Options{}).Ports().Records})
	if err != nil {
		t.Fatal(err)
	}
	unknown, err := elsewhere.Issue(t.Context(), apikey.IssueRequest{Owner: mine, Name: "n"})
	if err != nil {
		t.Fatal(err)
	}
	valid := w.key[mine]
	ask := func(path, key string) answer {
		r := request("GET", path, "")
		r.Header["X-Api-Key"] = nil
		if key != "" {
			r.Header.Set("X-Api-Key", key)
		}
		a := w.send(r)
		a.header.Del("X-Request-Id")
		return a
	}
	for _, path := range []string{"/v1/account/me", monitors, monitors + "/mon_unknown", social + "/users/nasa/by_username"} {
		first := ask(path, string(unknown.Secret))
		for name, key := range map[string]string{
			"missing": "", "unknown": string(unknown.Secret), "malformed": "sw_live_nonsense", "of another form": "Bearer x",
			"cut": valid[:len(valid)-1], "with another last character": valid[:len(valid)-1] + "_", "in capitals": strings.ToUpper(valid),
			"expired": w.expiredKey(), "revoked": w.revokedKey(),
		} {
			for range 2 { // looked up, and remembered
				a := ask(path, key)
				if a.status != http.StatusUnauthorized || a.body != first.body || !slices.Equal(lines(a.header), lines(first.header)) {
					t.Errorf("%s, a key that is %s: %d %v %s, want %v %s", path, name, a.status, a.header, a.body, first.header, first.body)
				}
			}
		}
	}
	if spent, _ := w.spent(mine); spent != 0 {
		t.Errorf("charged %d for requests without a valid key", spent)
	}
}

// Options.Key says where a request has its key, also one for a WebSocket.
func TestKeyOfRequest(t *testing.T) {
	w := newWorld(t, func(s *setup) {
		s.options.Key = func(r *http.Request) secret.Value {
			if r.Header.Get("X-Panic") != "" {
				panic("a mistake in Key")
			}
			token, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
			return secret.Value(token)
		}
	})
	for _, row := range []struct {
		name, header, value string
		status              int
	}{
		{"in the place of the program", "Authorization", "Bearer " + w.key[mine], 200},
		{"of another owner", "Authorization", "Bearer " + w.key[theirs], 404},
		{"none", "Accept", "*/*", 401},
		{"unknown", "Authorization", "Bearer nonsense", 401},
		{"in the header that Key does not read", "X-Api-Key", w.key[mine], 401},
		{"a panic", "X-Panic", "yes", 500},
	} {
		r := request("GET", w.ids[mine].Replace(monitors+"/{monitor}"), "")
		r.Header.Set(row.header, row.value)
		a := w.send(r)
		if a.status != row.status || a.status == 401 && strings.Contains(a.body, "x-api-key") {
			t.Errorf("a key %s: %d %s, want %d", row.name, a.status, a.body, row.status)
		}
		if r.Header.Get("X-Api-Key") != "" && row.header != "X-Api-Key" {
			t.Errorf("a key %s: the caller's request was changed", row.name)
		}
	}
}
