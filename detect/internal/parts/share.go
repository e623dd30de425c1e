package parts

import (
	"sync/atomic"

	"github.com/streamwatch/streamwatch/detect/internal/accounts"
	"github.com/streamwatch/streamwatch/detect/internal/poll"
	"github.com/streamwatch/streamwatch/detect/internal/queries"
	"github.com/streamwatch/streamwatch/fleet"
)

// Share decides which accounts and queries a detector polls. It is safe for concurrent use.
type Share struct {
	prefix   string                    // prefix of all targets, if the platform has a name
	streamed [2]bool                   // whether targets are streamed, by poll.Kind
	stream   fleet.Part                // the part of all streamed posts
	own      atomic.Pointer[fleet.Set] // nil means all
}

// NewShare returns the Share of a detector that polls everything. streamed says for each poll.Kind
// whether its targets are streamed. All targets of a streamed kind belong to one part.
func NewShare(platform string, streamed [2]bool) *Share {
	s := &Share{streamed: streamed, stream: fleet.PartOf("stream/" + platform)}
	if platform != "" {
		s.prefix = platform + "/"
	}
	return s
}

// Alone reports whether Set was never called. The detector then has all parts.
func (s *Share) Alone() bool { return s.own.Load() == nil }

// Set sets the detector's own parts.
func (s *Share) Set(own fleet.Set) { s.own.Store(&own) }

// Parts returns how many parts the detector has.
func (s *Share) Parts() int {
	if own := s.own.Load(); own != nil {
		return own.Len()
	}
	return fleet.Parts
}

// Account reports whether the detector polls an account.
func (s *Share) Account(username string) bool {
	own := s.own.Load()
	return own == nil || own.Has(s.OfAccount(username))
}

// OfAccount returns the part of an account.
func (s *Share) OfAccount(username string) fleet.Part {
	switch {
	case s.streamed[poll.Accounts]:
		return s.stream
	case s.prefix == "":
		return fleet.PartOfHash(accounts.HashName(username))
	}
	return fleet.PartOf(s.prefix + accounts.Key(username))
}

// Query reports whether the detector searches for a query.
func (s *Share) Query(text string) bool {
	own := s.own.Load()
	return own == nil || own.Has(s.OfQuery(text))
}

// OfQuery returns the part of a query.
func (s *Share) OfQuery(text string) fleet.Part {
	if s.streamed[poll.Queries] {
		return s.stream
	}
	return fleet.PartOf(s.prefix + queries.Target(text))
}

// Stream reports whether the detector has the streams.
func (s *Share) Stream() bool { return s.own.Load().Has(s.stream) }
