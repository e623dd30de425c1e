package postgres

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func FuzzEscape(f *testing.F) {
	for _, s := range []string{"", "plain", "zero\x00", "escape\x1b00", "\x1b", "\xff\xfe", "ü\x80", "\x1b\x1b1"} {
		f.Add(s, s)
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		stored := escape(a)
		if !utf8.ValidString(stored) || strings.IndexByte(stored, 0) >= 0 {
			t.Errorf("escape(%q) is %q, which PostgreSQL refuses", a, stored)
		}
		if got := unescape(stored); got != a {
			t.Errorf("unescape(escape(%q)) is %q", a, got)
		}
		if a != b && stored == escape(b) {
			t.Errorf("%q and %q are both stored as %q", a, b, stored)
		}
	})
}

func TestPrepared(t *testing.T) {
	for _, row := range []struct{ query, want string }{
		{"SELECT ?, ?2, ?", "SELECT $1, $2, $3"},
		{"WHERE a = ?1 AND b IN {texts ?2} AND c IN {ints ?1}", "WHERE a = $1 AND b IN (SELECT unnest($2::text[]) AS value) AND c IN (SELECT unnest($1::bigint[]) AS value)"},
		{"{insert} t (a, b) {rows text,bool} ON CONFLICT DO NOTHING", "INSERT INTO t (a, b) SELECT unnest($1::text[]), unnest($2::boolean[]) ON CONFLICT DO NOTHING"},
		{"{update} t SET a = {max}(a, ?) FROM b {join} c WHERE {+}d", "UPDATE t SET a = greatest(a, $1) FROM b JOIN c WHERE d"},
	} {
		if got := prepared(row.query).sql; got != row.want {
			t.Errorf("%s is\n%s, want\n%s", row.query, got, row.want)
		}
	}
}
