package queries

import "time"

const (
	// lookEvery is how often a shard checks whether the wall clock was moved against the
	// detector's: it was set, or went on while the machine slept.
	lookEvery = int64(time.Minute)
	// leastMove is what counts as moved: less may be the time between reading both.
	leastMove = int64(10 * time.Millisecond)
)

// wall says when to check the wall clock, which the schedules of rules go by.
type wall struct {
	wanted bool  // a rule had a schedule
	lookAt int64 // when to check again whether the clock was moved
}

// checkWall plans the queries with schedules anew if the wall clock was moved: those whose time
// has come by it are due. It returns when to check again, Never if no rule has a schedule.
func (s *Targets) checkWall(now int64) int64 {
	switch w := &s.wall; {
	case !w.wanted:
		return Never
	case now < w.lookAt:
		return w.lookAt
	}
	s.wall.lookAt = now + lookEvery
	wallNow := s.Wall(now).UnixNano()
	for _, q := range s.byText {
		if at, ok := s.Sched.At(q.slot); !ok || at <= now || q.wished == 0 || q.Failures() > 0 {
			continue // it is polled, due or resting, or no schedule wants it
		}
		had, wished := q.wishedAt, now+max(0, q.wishedAt-wallNow)
		if moved := wished - q.wished; -leastMove < moved && moved < leastMove {
			continue
		}
		s.planSearch(q, now)
		if at, ok := s.Sched.At(q.slot); !ok || wished < at { // a schedule may count from now
			q.wished, q.wishedAt = wished, had
			s.Sched.Set(q.slot, wished)
		}
	}
	return s.wall.lookAt
}
