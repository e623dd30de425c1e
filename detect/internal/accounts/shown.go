package accounts

import "github.com/streamwatch/streamwatch/internal/seen"

// Shown keeps, by slot, which posts the accounts' timelines showed lately.
type Shown struct {
	windows  seen.Windows
	versions dense[uint64] // of first pages, where the Fetcher sets them
}

// Window returns the window of posts that an account's timeline showed lately.
func (s *Shown) Window(slot int32) seen.Window { return s.windows.At(int(slot)) }

// SetWindow replaces the window of an account.
func (s *Shown) SetWindow(slot int32, w seen.Window) { s.windows.Set(int(slot), w) }

// Version returns the version of the last first page whose posts were all dealt with, 0 for
// none.
func (s *Shown) Version(slot int32) uint64 {
	if s.versions.chunks == nil {
		return 0
	}
	return *s.versions.at(slot)
}

// SetVersion replaces the version of an account.
func (s *Shown) SetVersion(slot int32, version uint64) {
	if version != 0 || s.versions.chunks != nil {
		*s.versions.at(slot) = version
	}
}

func (s *Shown) forget(slot int32) {
	s.windows.Set(int(slot), seen.Window{})
	s.SetVersion(slot, 0)
}
