package fleet

import (
	"context"
	"errors"
	"time"
)

// Errors of Answers. A call that returns one has changed nothing.
var (
	// ErrUnderWay means that another caller is carrying out the request, and its lease has not
	// ended.
	ErrUnderWay = errors.New("fleet: the request is under way")
	// ErrOtherRequest means that a different request has used the id before.
	ErrOtherRequest = errors.New("fleet: a different request has used the id")
	// ErrNotBegun means that the caller has not begun the request, or that another caller has
	// begun it since.
	ErrNotBegun = errors.New("fleet: the caller has not begun the request, or another caller has begun it since")
)

// Limits of Answers. Beyond them the store drops the oldest answers.
const (
	AnswerLast     = 24 * time.Hour
	MaxAnswers     = 10_000
	MaxAnswersOf   = 1_000    // per owner, so that one owner cannot displace all answers of the others
	MaxAnswerBytes = 64 << 20 // all texts together, in bytes
)

// Answers keeps the answers to requests that clients may repeat. A repeated request gets the first
// answer on any node. Every method is atomic and safe for concurrent use; storage.Store has the
// rules for all ports.
//
// A store keeps texts unencrypted: callers encrypt those that are secret. storage.Eraser removes an
// owner's answers.
type Answers interface {
	// Begin begins a request, or returns its answer. After nil, nil the caller must carry out the
	// request and call Finish. Begin returns nil, nil if no caller has begun the request or if q.By
	// has. It also does if another caller has begun it and that caller's lease is over by the
	// store's clock. Otherwise Begin returns the answer, or ErrUnderWay while there is none. It
	// returns ErrOtherRequest if the request was begun or answered with another q.Asked.
	Begin(ctx context.Context, q Request) (*Answer, error)
	// Finish stores the answer to a request that q.By has begun; an empty text removes the request.
	// If q.By has stored the answer before, Finish returns nil and changes nothing. It returns
	// ErrNotBegun if q.By has not begun the request, if the request was removed, or if another
	// caller began it after the lease. It ignores q.Asked and q.Lease.
	Finish(ctx context.Context, q Request, text []byte) error
}

// Request is a request that clients may repeat.
type Request struct {
	Owner string
	ID    string // the same in each repetition, unique per owner
	Asked string // a hash of the request's content, the same in each repetition
	By    string // a text that identifies the caller, different in each repetition
	// Lease is how long no other caller can begin the request if By does not finish it.
	Lease time.Duration
}

// Answer is the answer to a request.
type Answer struct {
	By   string // Request.By of the repetition that was carried out
	Text []byte
}
