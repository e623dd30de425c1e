package billing

import (
	"crypto/sha256"
	"encoding/base32"
	"strconv"
	"time"
)

const (
	minutesPerDay = 24 * 60
	// A running stream is paused unless the balance covers its next runway minutes.
	runway = 60
	// A paused stream is resumed if the balance covers its next restart minutes. This is more
	// than runway, because the stream could otherwise be paused again a minute later.
	restart = 75
)

// minute counts minutes of wall-clock time since 1970, UTC.
type minute int64

func minuteOf(t time.Time) minute {
	s := t.Unix()
	if s < 0 {
		return minute((s - 59) / 60)
	}
	return minute(s / 60)
}

func (m minute) start() time.Time { return time.Unix(int64(m)*60, 0).UTC() }

// ofDay returns the minute of the UTC day, from 0 to 1439.
func (m minute) ofDay() int64 { return ((int64(m) % minutesPerDay) + minutesPerDay) % minutesPerDay }

// cost returns the price of n minutes starting with m. perDay is the price of a day, and n is at
// most a day. The minutes of a day, from midnight to midnight UTC, add up to exactly perDay. To
// achieve that, minutes differ by up to a thousandth of a credit.
func cost(perDay Credits, m minute, n int64) Credits {
	from := m.ofDay()
	to := from + n
	if to <= minutesPerDay {
		return upTo(perDay, to) - upTo(perDay, from)
	}
	return upTo(perDay, minutesPerDay) - upTo(perDay, from) + upTo(perDay, to-minutesPerDay)
}

// upTo returns the price of the first n minutes of a day. It divides before it multiplies, so it
// does not overflow.
func upTo(perDay Credits, n int64) Credits {
	return perDay/minutesPerDay*Credits(n) + perDay%minutesPerDay*Credits(n)/minutesPerDay
}

var idEncoding = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)

// ChargeID returns the id of the entry for a stream and the minute that contains at. All Meters
// use the same id, so a minute is charged once.
func ChargeID(kind Kind, sourceID string, at time.Time) string {
	return chargeID(kind, sourceID, minuteOf(at))
}

func chargeID(kind Kind, sourceID string, m minute) string {
	var buf [96]byte
	b := append(append(buf[:0], kind...), 0)
	b = append(append(b, sourceID...), 0)
	b = strconv.AppendInt(b, int64(m), 10)
	sum := sha256.Sum256(b)
	out := make([]byte, 4, 4+26)
	copy(out, "chg_")
	return string(idEncoding.AppendEncode(out, sum[:16]))
}
