package pace

import (
	"encoding/binary"
	"time"
)

// The parts of a day. Most accounts post more at some hours than at others.
const (
	dayParts     = 12
	dayPartNanos = 24 * int64(time.Hour) / dayParts

	// evenDays is the prior of each part, as a number of posts.
	evenDays = 2
	// dailyWeek is the number of an account's posts, about, that are counted per week.
	dailyWeek = 12
	// dayShare is the longest equal share, in seconds, for which the hour of the day is used. For
	// much longer intervals the hour matters little.
	dayShare = 3600
)

// daily counts an account's posts by part of the day, as counts.
type daily [dayParts / 2]uint8

// add counts a post.
func (d *daily) add(at int64) {
	i, _ := dayPart(at)
	counts(d[:]).add(i)
}

// counts are numbers of 0 to 15, two to a byte. All are halved when one would exceed 15.
type counts []uint8

func (c counts) add(i int) {
	if c.at(i) == 15 {
		for k := range c {
			c[k] = c[k] >> 1 & 0x77
		}
	}
	c[i/2] += 1 << (i % 2 * 4)
}

func (c counts) at(i int) float64 { return float64(c[i/2] >> (i % 2 * 4) & 15) }

// at returns the rate at time t divided by the day's mean rate. The result is above 0, and
// interpolated between the middles of two parts.
func (d *daily) at(t int64) float64 {
	const nibbles, ones = 0x0f0f0f0f0f0f0f0f, 0x0101010101010101
	all := uint64(binary.LittleEndian.Uint32(d[:])) | uint64(binary.LittleEndian.Uint16(d[4:]))<<32
	sum := (all&nibbles + all>>4&nibbles) * ones >> 56 // sum of the counts, at most 180
	i, within := dayPart(t - dayPartNanos/2)
	c := counts(d[:])
	here := c.at(i)*(1-within) + c.at((i+1)%dayParts)*within
	return (here + evenDays) / (float64(sum)/dayParts + evenDays)
}

// dayPart returns the part of the day that a time is in, and the share of the part that has
// passed. The time may be before the epoch.
func dayPart(at int64) (part int, passed float64) {
	in := at % (dayParts * dayPartNanos)
	if in < 0 {
		in += dayParts * dayPartNanos
	}
	return int(in / dayPartNanos), float64(in%dayPartNanos) / float64(dayPartNanos)
}

// habit measures, for all accounts together, how well the hours of earlier posts predict the
// hours of later ones.
type habit struct {
	trust  float64 // 0 for not at all, 1 for fully
	weight float64 // weight of the observations
}

const (
	habitPrior  = 50     // weight of the initial trust of 0
	habitEnough = 20_000 // weight above which older observations count less
)

// factor returns the factor by which to multiply an account's rate at an hour with the given
// relative rate.
func (h *habit) factor(relative float64) float64 { return 1 + h.trust*(relative-1) }

// learn updates the trust from the posts that a poll found and the posts expected. It makes one
// step of Newton's method towards the most likely trust.
func (h *habit) learn(relative, found, expected float64) {
	x := (relative - 1) / h.factor(relative)
	h.weight += expected * x * x
	h.trust += (found - expected) * x / (habitPrior + h.weight)
	h.trust = max(0, min(1, h.trust))
	if h.weight > habitEnough {
		h.weight /= 2
	}
}

// remember counts a post by part of the day. For accounts that post much it counts only some of
// the posts, chosen by a hash of their times. So the counts reach back for weeks.
func (s *state) remember(at int64) {
	chance := uint64(at/1e6) * 0x9e3779b97f4a7c15 >> 40 // random value, 0 to 2^24
	if float64(chance)*float64(s.slow) < dailyWeek*(1<<24) {
		s.days.add(at)
	}
}
