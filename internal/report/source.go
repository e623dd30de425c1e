package report

import (
	"slices"
	"time"
)

// Polled has the counters of a source since the engine was made, and its limit.
type Polled struct {
	Name          string
	Polls, Errors int64
	LastError     error     // of the Errors
	Until         time.Time // when the limit in force ends; zero for none
	Limit         string    // what is limited
}

// watched is a source as it was last looked at.
type watched struct {
	Source
	polls, errors int64
}

// Watch finds out the state of the sources. A source is down if all polls since the last call have
// failed, and stays down while there are none.
func (r *Recorder) Watch(at time.Time, list []Polled) {
	r.mu.Lock()
	defer r.mu.Unlock()
	since := r.watchedAt
	if since.IsZero() {
		since = at
	}
	now := make([]watched, len(list))
	r.report.Sources = nil
	for i, p := range list {
		var was watched
		if k := slices.IndexFunc(r.watched, func(w watched) bool { return w.Name == p.Name }); k >= 0 {
			was = r.watched[k]
		}
		s := Source{Name: p.Name, State: Up}
		polls, failed := p.Polls-was.polls, p.Errors-was.errors
		switch {
		case p.Until.After(at):
			s.State, s.Until, s.Error = Limited, p.Until, p.Limit
		case polls > 0 && failed == polls && p.LastError != nil:
			s.State, s.Error = Down, p.LastError.Error()
		case polls == 0 && was.State == Down:
			s = was.Source
		}
		switch {
		case s.State == Up:
		case s.State == was.State:
			s.Since = was.Since
		default:
			s.Since = since
		}
		now[i] = watched{s, p.Polls, p.Errors}
		r.report.Sources = append(r.report.Sources, s)
	}
	r.watched, r.watchedAt = now, at
}
