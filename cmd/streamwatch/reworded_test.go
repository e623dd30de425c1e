package main

import (
	"io"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/alicebob/miniredis/v2"
	"github.com/alicebob/miniredis/v2/server"
)

// goField is what the name of a Go field is like, with the package before it.
var goField = regexp.MustCompile(`\b[a-z]+: [A-Z][A-Za-z.]+ |Options\.|Config\b`)

// What a library refuses is told in the words of who started the program: by the flag, the
// variable or the option, and by no field.
func TestErrorsNameFlags(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("file", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	long := strings.Repeat("a", 200)
	old, evicting := miniredis.RunT(t), miniredis.RunT(t)
	if err := old.Server().Register("CONFIG", func(p *server.Peer, _ string, _ []string) { p.WriteStrings([]string{"maxmemory-policy", "noeviction"}) }); err != nil {
		t.Fatal(err)
	}
	old.Set("{streamwatch}:version", "streamwatch 1")
	env := map[string]string{"T": "tok", "NL": "a\nb", "S": strings.Repeat("0123456789abcdef", 4)}
	for args, want := range map[string]string{
		"check|-platform|https://h|-appview|https://u:pw@h":            `-appview "https://***@h" is not allowed: it needs -platform bluesky`,
		"watch|feed:https://go.dev/f|-appview|https://u:pw@h":          `-appview "https://***@h" is not allowed: it needs an account bluesky:`,
		"check|-source|b=bluesky,https://h/path":                       `-source b: url "https://h/path" is not allowed: want a scheme and a host`,
		"check|-source|b=bluesky,https://h/path,pds,stream":            `-source b: url "https://h/path" is not allowed`,
		"check|-source|b=bluesky,stream=wss://h/x?a=b":                 `-source b: stream "wss://h/x" is not allowed: want ws:// or wss://`,
		"check|-source|m=mastodon,https://h/path":                      `-source m: url "https://h/path" is not allowed`,
		"check|-source|m=mastodon,https://h,token=NL":                  `-source m: token *** is not allowed: want no CR`,
		"check|-source|r=remote,https://h/path,token=T":                `-source r: url "https://h/path" is not allowed`,
		"check|-source|r=remote,https://h,token=NL,stream":             `-source r: token *** is not allowed`,
		"check|-source|x=x,https://h/path,token=T":                     `-source x: url "https://h/path" is not allowed`,
		"check|-source|x=x,token=NL":                                   `-source x: token *** is not allowed`,
		"check|-source|x=x,token=T,limit=1e10":                         `-source x: limit "1e10" is not allowed: want more than 0 dollars a day, and at most 1000000000`,
		"check|-source|x=x,token=T,limit=Inf":                          `-source x: limit "Inf" is not allowed`,
		"check|-source|f=feed,contact=(a)":                             `-source f: contact "(a)" is not allowed: want printable ASCII`,
		"1|serve|-addr|127.0.0.1:0|-source|f=feed,memory=file":         `-source f: memory "file": feed: mkdir`,
		"check|-source|f=feed,stream=https://127.0.0.1/x,token=S":      `-source f: stream "https://127.0.0.1/x" is not allowed: want a host that hubs can reach`,
		"check|-source|f=feed,stream=https://h.example/x?y,token=S":    `-source f: stream "https://h.example/x" is not allowed: want https://`,
		"check|-source|f=feed,stream=https://example.com/x,token=T":    `-source f: token of 3 bytes is not allowed: want 32 or more`,
		"check|-platform|bluesky|-segment|account":                     `-segment "account" is not allowed: want 1 to 32`,
		"check|-platform|bluesky|-fleet|-node|" + long:                 `-node "`,
		"check|-platform|bluesky|-keyless|1000001":                     `-keyless 1000001 is not allowed: want 1 to 1000000`,
		"check|-platform|bluesky|-max-websockets|1000001":              `-max-websockets 1000001 is not allowed: want at most 1000000`,
		"check|-platform|bluesky|-client-address|a b":                  `-client-address "a b" is not allowed: want the name of a header`,
		"check|-platform|https://h/path":                               `-platform "https://h/path" is not allowed: want bluesky, or where a Mastodon server is: want http:// or https:// and a host, and nothing else`,
		"check|-platform|https://u:pw@h":                               `-platform "https://***@h" is not allowed: `,
		"check|-platform|bluesky|-appview|https://h/path":              `-appview "https://h/path" is not allowed: want http:// or https:// and a host`,
		"check|-platform|bluesky|-pds|https://h/path":                  `-pds "https://h/path" is not allowed: want http:// or https:// and a host`,
		"STREAMWATCH_TOKEN=a\nb|check|-platform|https://h":             `STREAMWATCH_TOKEN *** is not allowed: want no CR`,
		"STREAMWATCH_SEAL_KEY=abc|check|-platform|bluesky":             `STREAMWATCH_SEAL_KEY is not allowed: want 32 bytes in base64`,
		"STREAMWATCH_CURSOR_KEY=abc|check|-platform|bluesky":           `STREAMWATCH_CURSOR_KEY of 3 bytes is not allowed: want 16 or more`,
		"key|-owner|" + long:                                           `-owner "aaaa`,
		"key|-owner|a|-name|":                                          `-name "" is not allowed: want 1 to 100`,
		"key|-owner|a|-tier|" + long:                                   `-tier "aaaa`,
		"key|-owner|a|-scope|god":                                      `-scope "god" is not allowed: want read, write or admin`,
		"key|-owner|a|-rate|-5":                                        `-rate "-5" is not allowed: want 0 to 1000000`,
		"STREAMWATCH_SCOPE=god|key|-owner|a":                           `STREAMWATCH_SCOPE "god" is not allowed`,
		"erase|-owner|a|-db|file|-keep-ledger-as|a":                    `-keep-ledger-as "a" is not allowed: want another name`,
		"erase|-owner|a|-db|file|-sources|A,b":                         `-sources "A" is not allowed: want a name of 1 to 32`,
		"watch|bluesky:a.b|-appview|https://u:pw@h/path":               `-appview "https://***@h/path" is not allowed: want http:// or https:// and a host`,
		"bench|latency|-listen|nonsense|-posts|100|-for|2m":            `-listen "nonsense" is not allowed: `,
		"bench|latency|-webhook|nonsense|-posts|100|-for|2m":           `-webhook "nonsense" is not allowed: `,
		"1|serve|-platform|bluesky|-addr|127.0.0.1:0|-db|file/x":       `-db "file/x": sqlite: `,
		"1|keys|-owner|a|-db|.":                                        `-db ".": sqlite: `,
		"1|keys|-owner|a|-redis|redis://" + old.Addr():                 `-redis redis://127.0.0.1:`,
		"1|STREAMWATCH_REDIS=redis://" + old.Addr() + "|keys|-owner|a": `STREAMWATCH_REDIS redis://`,
		"1|keys|-owner|b|-redis|redis://" + evicting.Addr():            `set "maxmemory-policy noeviction" in its configuration`,
		"1|credits|-owner|b|-credits|5|-redis|redis://" + old.Addr():   `version 1, want 5: take another /database of the server, or remove the keys`,
	} {
		words, code, given := strings.Split(args, "|"), 78, map[string]string{}
		if words[0] == "1" {
			words, code = words[1:], 1
		}
		if name, value, ok := strings.Cut(words[0], "="); ok {
			words, given[name] = words[1:], value
		}
		look := func(name string) (string, bool) {
			if v, ok := given[name]; ok {
				return v, true
			}
			v, ok := env[name]
			return v, ok
		}
		err := run(t.Context(), process{look, io.Discard, io.Discard}, words)
		if err == nil || !strings.Contains(err.Error(), want) || status(err) != code {
			t.Errorf("%.100s: status %d, error %v, want %d and %q", args, status(err), err, code, want)
		} else if text := err.Error(); goField.MatchString(text) || strings.Contains(text, "pw") {
			t.Errorf("%.100s: error %v names a field, or a password", args, err)
		}
	}
}
