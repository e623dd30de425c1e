package streamwatch

import (
	"context"
	"errors"
	"fmt"

	"github.com/streamwatch/streamwatch/detect"
	"github.com/streamwatch/streamwatch/fetcher"
)

// Account returns the state of an account. The state shows whether the account can be read. ok is
// false if no active monitor tracks the account. The error is ErrNotRunning or ctx's error.
func (e *Engine) Account(ctx context.Context, username string) (st detect.AccountStatus, ok bool, err error) {
	return account(e, username, func() (detect.AccountStatus, bool, error) { return e.platforms.Account(ctx, username) })
}

// AccountOf is Account for one owner. ok is false if no active monitor or rule of the owner tracks
// the account. Sources and Interval count only the owner's monitors and rules. Errors name no hosts
// of the service, and Node is empty.
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

// maxWorst is the highest detect.WorstQuery.Limit allowed.
const maxWorst = 1000

// WorstAccounts returns the accounts that are worst by the measure q.By, the worst first. It does
// not delay polls. In a fleet it returns only accounts that this node polls. Unless q.All is set,
// errors name no hosts of the service, and Node is empty. WorstAccounts returns ErrNotRunning,
// ctx's error, or an error that names a field of q that is not allowed.
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

// forOwner removes details that owners must not see: the service's hosts, its nodes, and errors of
// its store.
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

// ownersError returns publicError(err) if err comes from the platform. For any other error, such as
// one of the store, it returns errUnreadable.
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
