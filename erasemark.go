package streamwatch

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/streamwatch/streamwatch/billing"
	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/detect"
	"github.com/streamwatch/streamwatch/fleet"
	"github.com/streamwatch/streamwatch/monitor"
	"github.com/streamwatch/streamwatch/rule"
	"github.com/streamwatch/streamwatch/storage"
)

// eraseMarks keeps the marks of erased owners in the store, for all engines that share it. A mark
// is a cursor whose target has a hash of the owner's name. Its position is the number of a feed
// change made after the owner's keys were removed. A request that began before that change cannot
// create anything for the owner. While the owner is being erased, no request can.
type eraseMarks struct {
	journal detect.Journal
	feed    fleet.Feed // nil for a store that only one engine can use: it needs no marks
	own     deliver.EndpointStore
}

func newEraseMarks(e *Engine, j detect.Journal) *eraseMarks {
	m := &eraseMarks{journal: j, own: e.store.Endpoints()}
	if store, ok := e.store.(storage.Sharing); ok {
		m.feed = store.Feed()
	}
	return m
}

// eraseMark is the mark of an owner. The zero value means that the owner was never erased.
type eraseMark struct {
	change  uint64
	erasing bool // Erase has not ended
}

const stillErasing = " erasing"

func (m eraseMark) String() string {
	text := strconv.FormatUint(m.change, 10)
	if m.erasing {
		text += stillErasing
	}
	return text
}

// erasedPrefix begins the targets of marks.
const erasedPrefix = "erased "

// eraseTarget returns the target of an owner's mark. No account or query has this target, because
// it contains a space.
func eraseTarget(owner string) string {
	sum := sha256.Sum256([]byte("erased\x00" + owner))
	return erasedPrefix + hex.EncodeToString(sum[:16])
}

// of returns the marks of owners.
func (m *eraseMarks) of(ctx context.Context, owners ...string) (map[string]eraseMark, error) {
	targets := make(map[string]string, len(owners))
	asked := make([]string, len(owners))
	for i, owner := range owners {
		asked[i] = eraseTarget(owner)
		targets[asked[i]] = owner
	}
	found, err := m.journal.Cursors(ctx, asked...)
	if err != nil {
		return nil, fmt.Errorf("streamwatch: read which owners are erased: %w", err)
	}
	marks := make(map[string]eraseMark, len(found))
	for _, c := range found {
		number, erasing := strings.CutSuffix(c.Position, stillErasing)
		change, err := strconv.ParseUint(number, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("streamwatch: read which owners are erased: %w", err)
		}
		marks[targets[c.Target]] = eraseMark{change, erasing}
	}
	return marks, nil
}

// setTime limits the time from set's read of the mark to its write. It is shorter than the lease of
// an Erase: after that lease another Erase may set the mark.
const setTime = 10 * time.Second

// errOverwritten is returned by set at the end of an Erase if the stored mark is not that Erase's.
var errOverwritten = errors.New("streamwatch: an earlier Erase of the owner has overwritten the mark")

// set stores a mark. It returns ErrErasing if a later Erase has stored its mark. At the end of an
// Erase it returns errOverwritten if an earlier Erase has overwritten the mark.
func (m *eraseMarks) set(ctx context.Context, owner string, is eraseMark) error {
	if m.feed == nil {
		return nil
	}
	began := time.Now()
	marks, err := m.of(ctx, owner)
	if err != nil {
		return err
	}
	was, marked := marks[owner]
	switch {
	case was.change > is.change:
		return ErrErasing
	case marked && !is.erasing && was != (eraseMark{is.change, true}):
		return errOverwritten
	}
	ctx, cancel := context.WithDeadline(ctx, began.Add(setTime))
	defer cancel()
	c := detect.Cursor{Target: eraseTarget(owner), Since: time.Now().UTC(), Position: is.String()}
	return m.journal.Commit(ctx, []*detect.Batch{{Cursor: &c}})
}

// begin marks an owner as being erased. The owner's keys have been removed.
func (m *eraseMarks) begin(ctx context.Context, owner string) (is eraseMark, err error) {
	if m.feed == nil {
		return is, nil
	}
	if is.change, err = m.change(ctx, eraseTarget(owner)); err != nil {
		return is, err
	}
	is.erasing = true
	return is, m.set(ctx, owner, is)
}

// change adds a change to the feed and returns its number. To do so it creates a disabled endpoint
// of no owner and deletes it. It also deletes such endpoints of processes that died in between.
func (m *eraseMarks) change(ctx context.Context, of string) (number uint64, err error) {
	left, err := m.own.List(ctx, of, of)
	if err != nil {
		return 0, err
	}
	none := deliver.Endpoint{ID: "ep_" + strings.ToLower(rand.Text()), Source: deliver.Source{Kind: deliver.SourceMonitor, ID: of, Owner: of},
		Status: deliver.EndpointDisabled, Bound: true, CreatedAt: time.Now().UTC(), Version: 1}
	none.URL = "https://" + none.ID + ".invalid/"
	if err := m.own.Create(ctx, none); err != nil {
		return 0, err
	}
	if number, err = m.feed.Last(ctx); err != nil {
		return 0, err
	}
	for _, ep := range append(left, none) {
		if err := m.own.Delete(ctx, of, ep.ID); err != nil && !errors.Is(err, deliver.ErrEndpointNotFound) {
			return 0, err
		}
	}
	return number, nil
}

// ofMark reports whether change created an endpoint: only then is its owner the id of its monitor.
func ofMark(ep deliver.Endpoint) bool {
	return ep.Source.ID == ep.Source.Owner && strings.HasPrefix(ep.Source.ID, erasedPrefix)
}

// last returns the number of the last change.
func (m *eraseMarks) last(ctx context.Context) (uint64, error) {
	if m.feed == nil {
		return 0, nil
	}
	return m.feed.Last(ctx)
}

// refused reports whether a request must fail if known was the last change when it began.
func (m eraseMark) refused(known uint64) bool { return m.erasing || m.change > known }

// begunKey is the context key of a begun value.
type begunKey struct{}

// Begin returns a context for a request that may create something for an owner. Call it before you
// authenticate the request. If the owner is erased after that, through any engine on the Store,
// later creations with this context return ErrErasing.
func (e *Engine) Begin(ctx context.Context) (context.Context, error) {
	last, err := e.admission.marks.last(ctx)
	if err != nil {
		return ctx, fmt.Errorf("streamwatch: begin a request: %w", err)
	}
	return context.WithValue(ctx, begunKey{}, begun{e.admission.marks, last}), nil
}

// begun is the number of the last change when a request began.
type begun struct {
	marks *eraseMarks
	known uint64
}

// UnlessErased calls do to create something for an owner outside an Engine, such as an API key. ctx
// should come from Engine.Begin. If the owner was erased since Begin, UnlessErased returns
// ErrErasing: it does not call do, or calls undo after it, even if do failed.
func UnlessErased(ctx context.Context, owner string, do, undo func(context.Context) error) error {
	b, ok := ctx.Value(begunKey{}).(begun)
	if !ok {
		return do(ctx)
	}
	return b.marks.guard(ctx, owner, true, do, undo)
}

// undoTime limits guard's second check of the mark together with undo.
const undoTime = 5 * time.Second

// guard checks the owner's mark, calls do, and checks the mark again. It checks again even if do
// failed, because the store may have made the change. If the owner is refused by then, guard calls
// undo. If the second check fails, guard calls undo only if makes is true, for a creation.
func (m *eraseMarks) guard(ctx context.Context, owner string, makes bool, do, undo func(context.Context) error) error {
	if m.feed == nil {
		return do(ctx)
	}
	marks, err := m.of(ctx, owner)
	if err != nil {
		return err
	}
	known := marks[owner].change
	if b, ok := ctx.Value(begunKey{}).(begun); ok {
		known = b.known
	}
	if marks[owner].refused(known) {
		return ErrErasing
	}
	failed := do(ctx)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), undoTime)
	defer cancel()
	marks, err = m.of(ctx, owner)
	switch {
	case err != nil && makes:
		return errors.Join(failed, err, undo(ctx))
	case err != nil:
		return failed
	case marks[owner].refused(known):
		return errors.Join(ErrErasing, failed, undo(ctx))
	}
	return failed
}

// Stores for the managers. They create and resume nothing for an erased owner.
type (
	guardedMonitors struct {
		monitor.Store
		marks *eraseMarks
	}
	guardedRules struct {
		rule.Store
		marks *eraseMarks
	}
	guardedEndpoints struct {
		deliver.EndpointStore
		marks *eraseMarks
	}
)

func (s guardedMonitors) Create(ctx context.Context, r monitor.Monitor) error {
	return s.marks.guard(ctx, r.Owner, true, func(ctx context.Context) error { return s.Store.Create(ctx, r) },
		func(ctx context.Context) error {
			return ignore(s.Store.Delete(ctx, r.Owner, r.ID), monitor.ErrNotFound)
		})
}

// Update stores a monitor, and pauses a resumed one whose owner is erased meanwhile. Other nodes
// follow the pause; they do not follow a removal by Erase.
func (s guardedMonitors) Update(ctx context.Context, r monitor.Monitor) error {
	if r.Status != monitor.Active || r.StatusReason != "" {
		return s.Store.Update(ctx, r)
	}
	return s.marks.guard(ctx, r.Owner, false, func(ctx context.Context) error { return s.Store.Update(ctx, r) },
		func(ctx context.Context) error {
			r.Version, r.Status, r.StatusReason = r.Version+1, monitor.Paused, reasonErased
			return ignore(ignore(s.Store.Update(ctx, r), monitor.ErrConflict), monitor.ErrNotFound)
		})
}

// Update is guardedMonitors.Update for rules.
func (s guardedRules) Update(ctx context.Context, r rule.Rule) error {
	if r.Status != rule.Active || r.StatusReason != "" {
		return s.Store.Update(ctx, r)
	}
	return s.marks.guard(ctx, r.Owner, false, func(ctx context.Context) error { return s.Store.Update(ctx, r) },
		func(ctx context.Context) error {
			r.Version, r.Status, r.StatusReason = r.Version+1, rule.Paused, reasonErased
			return ignore(ignore(s.Store.Update(ctx, r), rule.ErrConflict), rule.ErrNotFound)
		})
}

func (s guardedRules) Create(ctx context.Context, r rule.Rule) error {
	return s.marks.guard(ctx, r.Owner, true, func(ctx context.Context) error { return s.Store.Create(ctx, r) },
		func(ctx context.Context) error { return ignore(s.Store.Delete(ctx, r.Owner, r.ID), rule.ErrNotFound) })
}

func (s guardedEndpoints) Create(ctx context.Context, ep deliver.Endpoint) error {
	return s.marks.guard(ctx, ep.Source.Owner, true, func(ctx context.Context) error { return s.EndpointStore.Create(ctx, ep) },
		func(ctx context.Context) error {
			return ignore(s.EndpointStore.Delete(ctx, ep.Source.Owner, ep.ID), deliver.ErrEndpointNotFound)
		})
}

// ignore returns nil if err is target, and err otherwise.
func ignore(err, target error) error {
	if errors.Is(err, target) {
		return nil
	}
	return err
}

// meterLedger drops entries of owners that were erased after the meter read its streams.
type meterLedger struct {
	billing.Ledger
	marks *eraseMarks
	known *uint64 // used by the meter's goroutine alone
}

func (l meterLedger) Append(ctx context.Context, entries ...billing.Entry) error {
	if l.marks.feed == nil {
		return l.Ledger.Append(ctx, entries...)
	}
	var owners []string
	for i := range entries {
		owners = append(owners, entries[i].Owner)
	}
	slices.SortFunc(owners, cmp.Compare[string])
	marks, err := l.marks.of(ctx, slices.Compact(owners)...)
	if err != nil {
		return err
	}
	due := slices.DeleteFunc(slices.Clone(entries), func(e billing.Entry) bool { return marks[e.Owner].refused(*l.known) })
	if len(due) == 0 {
		return nil
	}
	return l.Ledger.Append(ctx, due...)
}
