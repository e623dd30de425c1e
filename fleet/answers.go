package fleet

import (
	"context"
	"errors"
	"time"
)

// Errors of Answers. They mean that nothing was changed.
var (
	// ErrUnderWay: another one carries the request out, and its lease is not over.
	ErrUnderWay = errors.New("fleet: the request is under way")
	// ErrOtherRequest: the id is that of a request that asked for something else.
	ErrOtherRequest = errors.New("fleet: the id is that of another request")
	// ErrNotBegun: the request is not, or no longer, the caller's to finish.
	ErrNotBegun = errors.New("fleet: the request is not begun, or another one's")
)

// Bounds of Answers. An answer beyond them is forgotten, the oldest first.
const (
	AnswerLast     = 24 * time.Hour
	MaxAnswers     = 10_000
	MaxAnswersOf   = 1_000    // of one owner, so that none displaces all answers of the others
	MaxAnswerBytes = 64 << 20 // of the texts of all
)

// Answers keeps the answers to requests that clients may repeat, so that a repetition
// gets the first one's answer through any node. Every method is atomic, and safe for
// concurrent use; what holds for every port is written at storage.Store.
//
// Texts are sealed by who stores them: a store keeps them as they are. storage.Eraser
// removes those of an owner.
type Answers interface {
	// Begin asks whether a request has its answer. Nil without an error means that it is
	// the caller's to carry out, and that it has to call Finish: nobody has begun the
	// request, or the lease of who has is over by the store's clock, or q.By is who
	// has. Otherwise Begin returns the answer; ErrOtherRequest if the request was begun
	// or answered with another q.Asked; ErrUnderWay while it has no answer.
	Begin(ctx context.Context, q Request) (*Answer, error)
	// Finish stores the answer to a request that q.By has begun; an empty text forgets the
	// request. It is nil and does nothing if q.By has stored its answer before, and
	// ErrNotBegun otherwise. After its lease a request may be forgotten, or another one's.
	// Finish does not look at q.Asked and q.Lease.
	Finish(ctx context.Context, q Request, text []byte) error
}

// Request is one that clients may repeat.
type Request struct {
	Owner string
	ID    string // the same in each repetition, unique among the owner's
	Asked string // what it asks for: a hash, the same in each repetition
	By    string // who carries it out: another text for each repetition
	// Lease is for how long nobody else carries the request out if By never finishes.
	Lease time.Duration
}

// Answer is what a request got.
type Answer struct {
	By   string // of the request that was carried out
	Text []byte
}
