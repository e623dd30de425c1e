package engineui

import (
	"testing"
	"time"
)

func TestFormats(t *testing.T) {
	for _, row := range []struct{ got, want string }{
		{string(soft("a-b_c@d.e/f?g&h:<i>")), "a-<wbr>b_<wbr>c<wbr>@d<wbr>.e<wbr>/f<wbr>?g<wbr>&amp;h:<wbr>&lt;i&gt;"},
		{string(soft("https://a.b is 1.5 s late.")), "https://<wbr>a<wbr>.b is 1.5 s late."},
		{last(4, "key_abcdef"), "cdef"}, {last(4, "ab"), "ab"},
		{cut(3, "añb"), "añb"}, {cut(3, "añbc"), "añb…"}, {cut(3, ""), ""},
		{clock(time.Time{}), "–"}, {clock(time.Unix(0, 0)), "1970-01-01 00:00:00"},
		{reason("paused_by_user"), "paused by its owner"}, {reason("insufficient_credits"), "credits ran out"},
	} {
		if row.got != row.want {
			t.Errorf("got %q, want %q", row.got, row.want)
		}
	}
}
