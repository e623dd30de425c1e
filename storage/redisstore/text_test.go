package redisstore

import (
	"cmp"
	"math"
	"strings"
	"testing"
	"time"
)

func TestStampsSortAsTimes(t *testing.T) {
	times := []time.Time{
		{}, time.Date(1700, 1, 1, 0, 0, 0, 0, time.UTC), time.Unix(-1, 0), time.Unix(0, -1), time.Unix(0, 0), time.Unix(0, 1),
		time.Date(2025, 3, 1, 12, 0, 0, 1000, time.UTC), time.Date(2262, 4, 11, 23, 47, 16, 854775807, time.UTC),
	}
	for i, a := range times {
		back, err := fromStamp(stamp(a))
		if err != nil || !back.Equal(a) || back.IsZero() != a.IsZero() {
			t.Errorf("%v came back as %v, %v", a, back, err)
		}
		for j, b := range times {
			if got, want := strings.Compare(stamp(a), stamp(b)), cmp.Compare(i, j); got != want {
				t.Errorf("stamps of %v and %v compare as %d, want %d", a, b, got, want)
			}
		}
	}
	for _, beyond := range []time.Time{time.Date(2500, 1, 1, 0, 0, 0, 0, time.UTC), lastTime.Add(1)} {
		if stamp(beyond) != stamp(lastTime) {
			t.Errorf("%v has to count as the end, %v", beyond, lastTime)
		}
	}
}

func TestHexIsFixedWidth(t *testing.T) {
	for n, want := range map[uint64]string{0: "0000000000000000", 255: "00000000000000ff", math.MaxUint64: "ffffffffffffffff"} {
		if got := hex(n); got != want {
			t.Errorf("hex(%d) = %s, want %s", n, got, want)
		}
	}
}

func TestDamagedFieldsAreRefused(t *testing.T) {
	for _, s := range []string{"", ":", "a", "1", "1:", "2:a", "-1:a", "+1:ab", "12345678901:a", "99999999999999999999:a", " 1:a"} {
		if text, rest, err := cutField(s); err == nil {
			t.Errorf("cutField(%q) = %q, %q: want an error", s, text, rest)
		}
	}
	if _, err := unescaped("a"); err == nil {
		t.Error("a name without its end has to be refused")
	}
}

// Escaped names come back, and none is a prefix of another.
func FuzzEscaped(f *testing.F) {
	for _, s := range []string{"", "\x00", "\x00\x00", "\x01", "a\x00", "a\x00\x01", "\xff"} {
		f.Add(s, "a")
		f.Add(s, "a\x00"+s)
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		back, err := unescaped(escaped(a))
		if err != nil || back != a {
			t.Fatalf("%q came back as %q, %v", a, back, err)
		}
		if a != b && (strings.HasPrefix(escaped(a), escaped(b)) || strings.Compare(escaped(a), escaped(b)) != strings.Compare(a, b)) {
			t.Fatalf("escaped %q and %q: one is the beginning of the other, or their order changed", a, b)
		}
	})
}

// Fields come back whatever they contain, and damaged ones are an error.
func FuzzFields(f *testing.F) {
	f.Add("", "", "")
	f.Add("a:b", "3:abc", "\x00")
	f.Fuzz(func(t *testing.T, a, b, raw string) {
		d := decoder{rest: string(appendField(appendField(nil, a), b)) + raw}
		if gotA, gotB := d.field(), d.field(); d.err != nil || gotA != a || gotB != b || d.rest != raw {
			t.Fatalf("%q, %q, %q came back as %q, %q, %q, %v", a, b, raw, gotA, gotB, d.rest, d.err)
		}
		if text, rest, err := cutField(raw); err == nil && len(text)+len(rest) >= len(raw) {
			t.Fatalf("cutField(%q) = %q, %q", raw, text, rest)
		}
	})
}
