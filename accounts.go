package streamwatch

import (
	"context"
	"errors"
	"fmt"

	"github.com/streamwatch/streamwatch/detect"
	"github.com/streamwatch/streamwatch/fetcher"
)

// Account returns the state of a watched account, which tells a silent account from
// one that cannot be read. ok is false when no active monitor tracks it; the error is
// ErrNotRunning, or ctx's.
func (e *Engine) Account(ctx context.Context, username string) (st detect.AccountStatus, ok bool, err error) {
	return account(e, username, func() (detect.AccountStatus, bool, error) { return e.platforms.Account(ctx, username) })
}

// AccountOf is Account for an owner: ok is false when no active monitor or rule of its own
// tracks the account, and Sources and Interval are of these alone. Errors are as owners may
// read them, without hosts of the service, and Node is empty.
func (e *Engine) AccountOf(ctx context.Context, owner, username string) (st detect.AccountStatus, ok bool, err error) {
	st, ok, err = account(e, username, func() (detect.AccountStatus, bool, error) { return e.platforms.AccountOf(ctx, owner, username) })
	forOwner(&st)
	return st, ok, err
}

func account(e *Engine, username string, ask func() (detect.AccountStatus, bool, error)) (st detect.AccountStatus, ok bool, err error) {
	if e.life.current() != running {
		return detect.AccountStatus{}, false, ErrNotRunning
	}
	st, ok, err = ask()
	if ok && e.fleet != nil {
		st.Node = e.fleet.node.NameOf(e.platforms.Part(username))
	}
	return st, ok, notRunning(err)
}

// maxWorst bounds detect.WorstQuery.Limit.
const maxWorst = 1000

// WorstAccounts returns the accounts that stand worst by q.By, the worst first, without
// holding up polls; in a fleet, of those that this node polls. Unless q.All is set, errors
// and Node are as from AccountOf. The error is ErrNotRunning or ctx's, or names a field of q
// whose value is not allowed.
func (e *Engine) WorstAccounts(ctx context.Context, q detect.WorstQuery) ([]detect.AccountStatus, error) {
	switch {
	case q.By > detect.WorstSlow:
		return nil, fmt.Errorf("streamwatch: WorstQuery.By %d is not allowed: want detect.WorstFailing to detect.WorstSlow", q.By)
	case q.Limit < 0 || q.Limit > maxWorst:
		return nil, fmt.Errorf("streamwatch: WorstQuery.Limit %d is not allowed: want 1 to %d, or 0 for 50", q.Limit, maxWorst)
	case e.life.current() != running:
		return nil, ErrNotRunning
	}
	if q.Limit == 0 {
		q.Limit = 50
	}
	worst, err := e.platforms.Worst(ctx, q)
	for i := range worst {
		if !q.All {
			forOwner(&worst[i])
		}
	}
	return worst, notRunning(err)
}

// forOwner leaves out what is not the owner's to know: hosts and nodes of the service, and
// what is wrong with its store.
func forOwner(st *detect.AccountStatus) {
	st.Node = ""
	if st.Err != nil {
		st.Err = ownersError(st.Err)
		st.Error = st.Err.Error()
	}
	for i := range st.Polls {
		if st.Polls[i].Error != "" {
			st.Polls[i].Error = errUnreadable.Error()
		}
	}
}

var errUnreadable = errors.New("the account could not be read")

// ownersError returns publicError of an error of the platform, and errUnreadable for any
// other, such as one of the store.
func ownersError(err error) error {
	var status *fetcher.StatusError
	var limit *fetcher.RateLimitError
	var argument *fetcher.ArgumentError
	switch {
	case errors.Is(err, fetcher.ErrNotFound), errors.Is(err, fetcher.ErrProtected), errors.As(err, &status), errors.As(err, &limit), errors.As(err, &argument):
		return publicError(err)
	}
	return errUnreadable
}
