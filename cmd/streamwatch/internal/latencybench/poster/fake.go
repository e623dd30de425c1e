package poster

import (
	"context"
	"errors"

	"github.com/streamwatch/streamwatch/cmd/streamwatch/internal/latencybench/fakeserver"
)

// Fake posts on the fake platform.
type Fake struct{ Server *fakeserver.Server }

var _ Poster = Fake{}

// Accounts are those of the platform.
func (f Fake) Accounts() []string { return f.Server.Accounts() }

// Post publishes at once.
func (f Fake) Post(_ context.Context, account int, text string) (Posted, error) {
	t := f.Server.Post(account, text)
	return Posted{ID: t.ID, At: t.PublishedAt}, nil
}

// Delete is not supported: the fake platform ends with the run.
func (Fake) Delete(context.Context, string) error { return errors.ErrUnsupported }

// Limits allow as many posts as a record may have: receipt.MaxPosts.
func (Fake) Limits() Limits { return Limits{Posts: 100_000, InFlight: 1} }
