package detect

import (
	"context"

	"github.com/streamwatch/streamwatch/detect/internal/parts"
	"github.com/streamwatch/streamwatch/detect/internal/poll"
	"github.com/streamwatch/streamwatch/detect/internal/shards"
	"github.com/streamwatch/streamwatch/fleet"
)

// SetParts sets the parts of the accounts and queries that the detector polls. Until the first call
// it polls all. The part of an account or query is fleet.PartOf of its target in the journal. The
// target begins with Deps.Platform and a slash if there is a platform. All streamed posts belong to
// one part, fleet.PartOf of "stream/" and Deps.Platform: one node has the stream, and hands it over
// with its position. Every node has all subscriptions, because all nodes must decide alike about
// rules.
//
// Polls of a part that is given up end immediately: SetParts returns when none of their results can
// be committed any more. Polls of a part that is taken begin when the subscriptions are set again.
// They begin at the cursors then in the journal, as after a restart. After an error, call SetParts
// again: the journal may lack cursors that the next node needs.
func (d *Detector) SetParts(ctx context.Context, own fleet.Set) error {
	return d.sharing.set(ctx, own, false)
}

// Lose is SetParts with no parts, for a node whose term has ended. It stores no cursors, because
// other nodes may already have the parts.
func (d *Detector) Lose(ctx context.Context) error { return d.sharing.set(ctx, fleet.Set{}, true) }

// Part returns the part of an account, and PartOfQuery the part of a query: see SetParts.
func (d *Detector) Part(username string) fleet.Part    { return d.sharing.share.OfAccount(username) }
func (d *Detector) PartOfQuery(text string) fleet.Part { return d.sharing.share.OfQuery(text) }

// sharing divides targets among a Detector and the other nodes of a fleet.
type sharing struct {
	d         *Detector
	share     *parts.Share
	elsewhere parts.Elsewhere
	left      shards.Left
	turn      chan struct{} // a semaphore of one slot, for SetParts
	// setting is a semaphore. Setting or removing a subscription of accounts takes one slot; giving
	// up accounts takes all slots.
	setting chan struct{}
}

// maxSetting is how many subscriptions may be set at the same time.
const maxSetting = 64

func newSharing(d *Detector) *sharing {
	streamed := [2]bool{poll.Accounts: d.deps.Roles.Stream != nil, poll.Queries: d.deps.Roles.SearchStream != nil}
	return &sharing{d: d, share: parts.NewShare(d.deps.Platform, streamed), turn: make(chan struct{}, 1), setting: make(chan struct{}, maxSetting)}
}

// set implements SetParts and, if lost is true, Lose.
func (s *sharing) set(ctx context.Context, own fleet.Set, lost bool) error {
	if err := shards.Acquire(ctx, s.turn, 1); err != nil {
		return err
	}
	defer shards.Release(s.turn, 1)
	if err := s.give(ctx, own); err != nil {
		return err
	}
	d := s.d
	for _, of := range d.streams {
		if err := of.Disconnect(ctx); err != nil {
			return err
		}
	}
	if err := d.teller.Tell(ctx, func(sh *shards.Shard, _ int, _ bool, done func()) { sh.WhenSettled(done) }); err != nil {
		return err
	}
	if err := shards.Acquire(ctx, d.committer.turn, 1); err != nil { // a commit under way may carry a position
		return err
	}
	shards.Release(d.committer.turn, 1)
	if lost {
		s.left.Drop()
	} else if err := s.storeLacking(ctx); err != nil {
		return err
	}
	if s.share.Stream() {
		for _, of := range d.streams {
			of.Take()
		}
	}
	return nil
}

// give sets the parts, and gives up all targets of other parts.
func (s *sharing) give(ctx context.Context, own fleet.Set) error {
	d := s.d
	unlock, err := d.router.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	if err := shards.Acquire(ctx, s.setting, maxSetting); err != nil {
		return err
	}
	defer shards.Release(s.setting, maxSetting)
	s.share.Set(own)
	if !s.share.Stream() {
		for _, of := range d.streams {
			of.Give()
		}
	}
	err = d.teller.Tell(ctx, func(sh *shards.Shard, _ int, _ bool, done func()) { sh.GiveUp(s.share, &s.elsewhere, &s.left, done) })
	if err != nil {
		return err
	}
	d.router.shared()
	return nil
}

// storeLacking stores an earlier cursor for each target that was given up before its newest
// subscribers were served. Without that cursor, these subscribers would miss posts.
func (s *sharing) storeLacking(ctx context.Context) error {
	return s.left.Store(maxGroup, func(cursors map[string]*poll.Cursor) error {
		var batches []*Batch
		for target, c := range cursors {
			batches = append(batches, &Batch{Cursor: newCursor(target, c)})
		}
		return s.d.deps.Journal.Commit(ctx, batches)
	})
}
