package enginehttp_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/streamwatch/streamwatch/apikey"
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
