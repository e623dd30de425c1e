package accounts

import "github.com/streamwatch/streamwatch/internal/seen"

// Shown is what the accounts' timelines showed lately, by slot.
type Shown struct {
	windows  seen.Windows
	versions dense[uint64] // of first pages, where the Fetcher gives them
}

// Window is what an account's timeline showed lately.
func (s *Shown) Window(slot int32) seen.Window { return s.windows.At(int(slot)) }

// SetWindow replaces it.
func (s *Shown) SetWindow(slot int32, w seen.Window) { s.windows.Set(int(slot), w) }

// Version is the version of the first page that has been dealt with, 0 for none.
func (s *Shown) Version(slot int32) uint64 {
	if s.versions.chunks == nil {
		return 0
	}
	return *s.versions.at(slot)
}

// SetVersion replaces it.
func (s *Shown) SetVersion(slot int32, version uint64) {
	if version != 0 || s.versions.chunks != nil {
		*s.versions.at(slot) = version
	}
}

func (s *Shown) forget(slot int32) {
	s.windows.Set(int(slot), seen.Window{})
	s.SetVersion(slot, 0)
}
