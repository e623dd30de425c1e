package query

import "time"

// MaxQuery is the default of Options.MaxLength, in characters.
const MaxQuery = 1024

// Dialect is one of the documented variants of the query language.
type Dialect uint8

// The dialects. Union, the default, accepts every name of the others and of PowerTrack, and
// matches posts like V2Search. It replaces different names of one operator by a single name,
// with a warning.
const (
	Union    Dialect = iota
	V2Stream         // X API v2 filtered stream rules
	V2Search         // X API v2 search queries, recent and full archive
	Web              // the web's "advanced search"
)

var dialectNames = [...]string{"union", "v2stream", "v2search", "web"}

// String returns the dialect's name: union, v2stream, v2search or web.
func (d Dialect) String() string {
	if int(d) < len(dialectNames) {
		return dialectNames[d]
	}
	return "unknown dialect"
}

// strict reports whether a dialect refuses every query that the X API refuses. The other
// dialects accept such a query with a warning if its meaning is clear.
func (d Dialect) strict() bool { return d == V2Stream || d == V2Search }

// exact reports whether accents of letters count in a dialect.
func (d Dialect) exact() bool { return d == V2Stream }

// sources is a set of the documents that define an operator.
type sources uint8

const (
	inS sources = 1 << iota // X API v2 filtered stream
	inR                     // X API v2 search
	inP                     // PowerTrack
	inW                     // web advanced search
)

// accepts returns the documents with the operators that a dialect accepts.
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

// Options are the options of Parse. The zero value is the Union dialect with the default
// limits.
type Options struct {
	Dialect Dialect
	// MaxLength is the longest query allowed, in characters (Unicode code points).
	// Defaults to MaxQuery. The limits of X are 512 for recent search, 1,024 for
	// streams and full-archive search, and 2,048 for enterprise customers.
	MaxLength int
	// MaxClauses is the largest number of clauses. Defaults to 512.
	MaxClauses int
	// MaxDepth is the deepest nesting of parentheses. Defaults to 64.
	MaxDepth int
	// Now returns the present time, for within_time:. Defaults to time.Now.
	Now func() time.Time
}

const (
	defaultClauses = 512
	defaultDepth   = 64
	// maxPhrase is the most words of a phrase. It keeps the state of a search in a small array on
	// the stack.
	maxPhrase = 512
	// maxNear is the most words of a proximity phrase. It is below maxPhrase, because a search
	// for words in any order takes longer.
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
