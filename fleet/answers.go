package fleet

import (
	"context"
	"errors"
	"time"
)

// Errors of Answers. They mean that nothing was changed.
var (
	// ErrUnderWay: another caller carries the request out, and its lease is not over.
	ErrUnderWay = errors.New("fleet: the request is under way")
	// ErrOtherRequest: the id was used before, by a request for something else.
	ErrOtherRequest = errors.New("fleet: the id is that of another request")
	// ErrNotBegun: the caller has not begun the request, or another caller has since.
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
// gets the answer to the first request, through any node. Every method is atomic, and safe
// for concurrent use; storage.Store has the rules for all ports.
//
// A caller seals texts that have to be secret: a store keeps them as they are.
// storage.Eraser removes those of an owner.
type Answers interface {
	// Begin begins a request, or returns its answer. Nil without an error means that the
	// caller has to carry the request out and then call Finish: nobody has begun it, or
	// q.By has, or the lease of the caller that has is over by the store's clock.
	// Otherwise Begin returns the answer, ErrOtherRequest if the request was begun or
	// answered with another q.Asked, or ErrUnderWay while it has no answer.
	Begin(ctx context.Context, q Request) (*Answer, error)
	// Finish stores the answer to a request that q.By has begun; an empty text forgets the
	// request. If q.By has stored the answer before, Finish returns nil and changes
	// nothing. If q.By has not begun the request, or it was forgotten or begun by another
	// caller after the lease, Finish returns ErrNotBegun. It ignores q.Asked and q.Lease.
	Finish(ctx context.Context, q Request, text []byte) error
}

// Request is a request that clients may repeat.
type Request struct {
	Owner string
	ID    string // the same in each repetition, unique among the owner's
	Asked string // what it asks for: a hash, the same in each repetition
	By    string // who carries it out: a different text in each repetition
	// Lease is how long nobody else can begin the request if By never finishes it.
	Lease time.Duration
}

// Answer is the answer to a request.
type Answer struct {
	By   string // Request.By of the repetition that was carried out
	Text []byte
}
