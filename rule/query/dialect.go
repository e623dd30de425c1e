package query

import "time"

// MaxQuery is the default of Options.MaxLength, in characters.
const MaxQuery = 1024

// Dialect is one of the documented variants of the query language.
type Dialect uint8

// The dialects. Union, the default, accepts every name of the others and of
// PowerTrack, replaces them by one name for each operator and warns; matching
// is that of V2Search.
const (
	Union    Dialect = iota
	V2Stream         // X API v2 filtered stream rules
	V2Search         // X API v2 search queries, recent and full archive
	Web              // the web's "advanced search"
)

var dialectNames = [...]string{"union", "v2stream", "v2search", "web"}

// String names the dialect: union, v2stream, v2search or web.
func (d Dialect) String() string {
	if int(d) < len(dialectNames) {
		return dialectNames[d]
	}
	return "unknown dialect"
}

// strict reports whether a dialect refuses what the X API refuses; the others
// only warn where the meaning is clear.
func (d Dialect) strict() bool { return d == V2Stream || d == V2Search }

// exact reports whether a dialect tells accented letters from plain ones.
func (d Dialect) exact() bool { return d == V2Stream }

// sources is a set of the documents that have an operator.
type sources uint8

const (
	inS sources = 1 << iota // X API v2 filtered stream
	inR                     // X API v2 search
	inP                     // PowerTrack
	inW                     // web advanced search
)

// accepts returns the documents whose operators a dialect accepts.
func (d Dialect) accepts() sources {
	switch d {
	case V2Stream:
		return inS
	case V2Search:
		return inR
	case Web:
		return inW
	}
	return inS | inR | inP | inW
}

// Options say how a query is read. The zero value is the Union dialect with
// the default limits.
type Options struct {
	Dialect Dialect
	// MaxLength is the longest query in characters (Unicode code points).
	// Defaults to MaxQuery. The platforms' own limits are 512 for recent
	// search, 1,024 for streams and full-archive search, 2,048 for enterprise.
	MaxLength int
	// MaxClauses is the largest number of clauses. Defaults to 512.
	MaxClauses int
	// MaxDepth is the deepest nesting of parentheses. Defaults to 64.
	MaxDepth int
	// Now is the clock that within_time: counts back from. Defaults to time.Now.
	Now func() time.Time
}

const (
	defaultClauses = 512
	defaultDepth   = 64
	// maxPhrase is the most words a phrase can have, so that its state fits
	// in an array on the stack.
	maxPhrase = 512
	// maxNear is the most words of a proximity phrase, which takes more work
	// because its words are looked for in every order.
	maxNear = 64
)

func (o Options) withDefaults() Options {
	if o.MaxLength <= 0 {
		o.MaxLength = MaxQuery
	}
	if o.MaxClauses <= 0 {
		o.MaxClauses = defaultClauses
	}
	if o.MaxDepth <= 0 {
		o.MaxDepth = defaultDepth
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return o
}
