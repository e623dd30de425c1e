package xapi

import (
	"maps"
	"sync"
	"time"
)

// since knows when new rules are in force, by their ids. It is safe for concurrent use.
type since struct {
	mu sync.Mutex
	at map[string]time.Time
}

// of returns when a rule is in force: the zero time for one that is not new.
func (s *since) of(id string) time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.at[id]
}

// made takes note of a rule that was made now, and forgets those that are not new.
func (s *since) made(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	maps.DeleteFunc(s.at, func(_ string, at time.Time) bool { return at.Before(now) })
	if s.at == nil {
		s.at = map[string]time.Time{}
	}
	s.at[id] = now.Add(ruleAfter)
}
