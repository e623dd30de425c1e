package memory

// Receivers is how many calls of Signals.Receive are under way.
func (s *Store) Receivers() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.receivers)
}
