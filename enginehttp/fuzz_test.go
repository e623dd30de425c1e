package enginehttp_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/streamwatch/streamwatch/enginehttp"
)

// Only a cursor that was signed opens, and to what was signed.
func FuzzCursor(f *testing.F) {
	const key, owner, endpoint, scope = "a key of the tests", "acme", "search", "moon"
	f.Add("", "")
	f.Add("second", "c2Vjb25k")
	f.Add("1234", enginehttp.SignCursor(key, owner, endpoint, scope, "1234"))
	f.Add("1234", "\n"+enginehttp.SignCursor(key, owner, endpoint, scope, "1234"))
	f.Add("x", enginehttp.SignCursor(key, "acm", "esearch", scope, "x"))
	f.Fuzz(func(t *testing.T, upstream, foreign string) {
		cursor := enginehttp.SignCursor(key, owner, endpoint, scope, upstream)
		if len(upstream) > 4096 {
			if cursor != "" {
				t.Errorf("%q is signed: %q", upstream, cursor)
			}
			return
		}
		if got, ok := enginehttp.OpenCursor(key, owner, endpoint, scope, cursor); !ok || got != upstream {
			t.Errorf("%q opens to %q, %v", upstream, got, ok)
		}
		if upstream != "" {
			for _, other := range [][]string{{"another key of them", owner, endpoint, scope}, {key, "rival", endpoint, scope}, {key, owner, endpoint + scope, ""}, {key, owner, endpoint, ""}} {
				if _, ok := enginehttp.OpenCursor(other[0], other[1], other[2], other[3], cursor); ok {
					t.Errorf("a cursor of another question opens: %q", other)
				}
			}
		}
		if got, ok := enginehttp.OpenCursor(key, owner, endpoint, scope, foreign); ok && enginehttp.SignCursor(key, owner, endpoint, scope, got) != foreign {
			t.Errorf("%q opens to %q, which is signed otherwise", foreign, got)
		}
	})
}

// A body is refused or read whole: the result has the same fields as encoding/json
// finds, and the nesting is bounded.
func FuzzBody(f *testing.F) {
	for _, s := range []string{
		`{"name":"a","usernames":["nasa"],"poll_interval_seconds":1.5,"filter_types":null}`, `{}`, `[]`, `null`, `"{"`, `{"name":"a","name":"b"}`, `{"name":{"name":1}}`,
		`{"na\u006de":1}`, "{\"name\":\"\xff\"}", strings.Repeat(`{"a":`, 70), strings.Repeat(`[`, 65), `{"name":"\"[[{{"}`, ` { "usernames" : [ ] } `, `{"name":1e999}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		form, err := enginehttp.ParseForm(text, enginehttp.KnownFields)
		if err != nil {
			if len(err.Error()) > 1024 {
				t.Errorf("an error of %d bytes", len(err.Error()))
			}
			return
		}
		var want map[string]json.RawMessage
		if err := json.Unmarshal(text, &want); err != nil {
			t.Fatalf("%q was read, yet: %v", text, err)
		}
		if got := enginehttp.FormFields(form); len(got) != len(want) {
			t.Errorf("%q has the fields %q", text, got)
		}
		if depth(text) > 64 {
			t.Errorf("%q was read", text)
		}
	})
}

// depth returns how deep valid JSON is nested, as encoding/json reads it.
func depth(text []byte) int {
	dec := json.NewDecoder(strings.NewReader(string(text)))
	now, most := 0, 0
	for {
		tok, err := dec.Token()
		if err != nil {
			return most
		}
		switch tok {
		case json.Delim('{'), json.Delim('['):
			now++
			most = max(most, now)
		case json.Delim('}'), json.Delim(']'):
			now--
		}
	}
}

// A megabyte of brackets is refused without an allocation for each of them.
func TestDeepBodyIsCheap(t *testing.T) {
	for _, text := range []string{strings.Repeat(`{"a":`, 200_000), strings.Repeat(`[`, 1<<20), `"` + strings.Repeat(`\"[`, 300_000)} {
		allocated := testing.AllocsPerRun(5, func() {
			if _, err := enginehttp.ParseForm([]byte(text), enginehttp.KnownFields); err == nil {
				t.Errorf("%.20q was read", text)
			}
		})
		if allocated > 50 {
			t.Errorf("%.20q: %.0f allocations", text, allocated)
		}
	}
}
