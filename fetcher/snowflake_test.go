package fetcher_test

import (
	"strconv"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/fetcher"
)

func TestSnowflakeTime(t *testing.T) {
	tests := []struct {
		name, id, want string // want is "" for unknown
	}{
		{"documented post of 2019", "1212092628029698048", "2019-12-31T19:26:16.771Z"},
		{"documented post of 2021", "1346889436626259968", "2021-01-06T18:40:40.344Z"},
		{"documented message", "1136048014974423040", "2019-06-04T23:12:08.178Z"},
		{"documented post of 2026", "2080761390344937796", "2026-07-24T21:05:48.792Z"},
		{"worked example", "1157939227653046272", "2019-08-04T09:00:00.000Z"},
		{"largest id", "18446744073709551615", "2150-03-18T09:18:05.760Z"},
		{"first id with a time", "29700000001", "2010-11-04T01:43:01.738Z"},
		{"last id without a time", "29700000000", ""},
		{"early id", "20", ""},
		{"zero", "0", ""},
		{"empty", "", ""},
		{"negative", "-1212092628029698048", ""},
		{"plus sign", "+1212092628029698048", ""},
		{"space", " 1212092628029698048", ""},
		{"over 64 bits", "18446744073709551616", ""},
		{"not a number", "3kabcdefghi2x", ""},
		{"hexadecimal", "0x10d2", ""},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			got, ok := fetcher.SnowflakeTime(tc.id)
			text := ""
			if ok {
				text = got.Format("2006-01-02T15:04:05.000Z07:00")
			}
			if text != tc.want {
				t.Errorf("SnowflakeTime(%q) = %q, %v, want %q", tc.id, text, ok, tc.want)
			}
		})
	}
}

func TestSnowflakeAt(t *testing.T) {
	epoch := time.Date(2010, 11, 4, 1, 42, 54, 657e6, time.UTC)
	tests := []struct {
		name string
		at   time.Time
		want uint64
	}{
		{"worked example", time.Date(2019, 8, 4, 9, 0, 0, 0, time.UTC), 1157939227653046272},
		{"epoch", epoch, 0},
		{"a millisecond later", epoch.Add(time.Millisecond), 1 << 22},
		{"within the millisecond", epoch.Add(1999 * time.Microsecond), 1 << 22},
		{"before the epoch", epoch.Add(-time.Millisecond), 0},
		{"zero time", time.Time{}, 0},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			if got := fetcher.SnowflakeAt(tc.at); got != tc.want {
				t.Errorf("SnowflakeAt(%v) = %d, want %d", tc.at, got, tc.want)
			}
		})
	}
}

// TestSnowflakeRoundTrip: the smallest id of a post's millisecond is the post's
// id without its low 22 bits, and carries the same time.
func TestSnowflakeRoundTrip(t *testing.T) {
	for _, id := range []uint64{1212092628029698048, 1346889436626259968, 2080761390344937796} {
		at, ok := fetcher.SnowflakeTime(strconv.FormatUint(id, 10))
		if !ok {
			t.Fatalf("%d has no time", id)
		}
		first := fetcher.SnowflakeAt(at)
		if want := id &^ (1<<22 - 1); first != want {
			t.Errorf("SnowflakeAt(SnowflakeTime(%d)) = %d, want %d", id, first, want)
		}
		if back, ok := fetcher.SnowflakeTime(strconv.FormatUint(first, 10)); !ok || !back.Equal(at) {
			t.Errorf("SnowflakeTime(%d) = %v, want %v", first, back, at)
		}
	}
}
