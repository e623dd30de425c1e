package storetest

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/billing"
	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/detect"
	"github.com/streamwatch/streamwatch/fleet"
	"github.com/streamwatch/streamwatch/internal/planted"
	"github.com/streamwatch/streamwatch/record"
	"github.com/streamwatch/streamwatch/storage"
)

// plantedBugs are broken stores, each with the case that has to find it.
var plantedBugs = []struct {
	name string
	bug  func(b *broken, s storage.Store) // changes what b does in place of the sound s
	find string                           // the case
	says string                           // part of what it reports
}{
	{"commits batch by batch", func(b *broken, s storage.Store) {
		b.commit = func(ctx context.Context, batches []*detect.Batch) error {
			for _, one := range batches {
				if err := s.Ports().Journal.Commit(ctx, []*detect.Batch{one}); err != nil {
					return err
				}
			}
			return nil
		}
	}, "journal/an event without Body fails the whole commit", "Commit stored the events of a batch although another batch of the same call failed: all or nothing"},
	{"commits 16 batches at a time", inChunksOf(16), "journal/a refused batch behind 16 others fails them all", "all or nothing"},
	{"commits 1,024 batches at a time", inChunksOf(1024), "journal/a refused batch behind 1024 others fails them all", "all or nothing"},
	{"looks at the fences of 1,024 batches", func(b *broken, s storage.Store) {
		b.commit = func(ctx context.Context, batches []*detect.Batch) error {
			for _, one := range batches[min(1024, len(batches)):] {
				one.Fence = batches[0].Fence
			}
			return s.Ports().Journal.Commit(ctx, batches)
		}
	}, "fence/one batch with an old fence refuses the whole commit", "behind 1024 others"},
	{"names no batch at fault", func(b *broken, s storage.Store) {
		b.commit = func(ctx context.Context, batches []*detect.Batch) error {
			err := s.Ports().Journal.Commit(ctx, batches)
			var be *detect.BatchError
			if errors.As(err, &be) {
				return be.Err
			}
			return err
		}
	}, "journal/a cursor without Target fails the whole commit", "*detect.BatchError that names the batch"},
	{"accepts an event twice", func(b *broken, s storage.Store) {
		n := 0
		b.commit = func(ctx context.Context, batches []*detect.Batch) error {
			for _, one := range batches {
				for i := range one.Events {
					n++
					one.Events[i].ID += fmt.Sprint(n)
				}
			}
			return s.Ports().Journal.Commit(ctx, batches)
		}
	}, "journal/an id in two commits is one event", "accepted an event whose id it knew"},
	{"knows ids per owner", func(b *broken, s storage.Store) {
		b.commit = func(ctx context.Context, batches []*detect.Batch) error {
			for _, one := range batches {
				for i := range one.Events {
					one.Events[i].ID += one.Events[i].Source.Owner
				}
			}
			return s.Ports().Journal.Commit(ctx, batches)
		}
	}, "journal/an event id is known over all owners", "knew from another owner"},
	{"moves cursors forward only", func(b *broken, s storage.Store) {
		b.commit = func(ctx context.Context, batches []*detect.Batch) error {
			for _, one := range batches {
				if one.Cursor == nil {
					continue
				}
				if c, _ := s.Ports().Journal.Cursors(ctx, one.Cursor.Target); len(c) > 0 && c[0].Since.After(one.Cursor.Since) {
					one.Cursor = &c[0]
				}
			}
			return s.Ports().Journal.Commit(ctx, batches)
		}
	}, "journal/the last cursor counts, even if it is earlier", "committed last"},
	{"does not look at the context", func(b *broken, s storage.Store) {
		b.commit = func(_ context.Context, batches []*detect.Batch) error {
			return s.Ports().Journal.Commit(context.Background(), batches)
		}
	}, "lifecycle/Journal honours a context that has ended", "Journal.Commit has to give back the error"},

	{"settles without the log", func(b *broken, s storage.Store) {
		b.delivery = func(ctx context.Context, owner, id string) (deliver.LogEntry, error) {
			e, err := s.Ports().Log.Delivery(ctx, owner, id)
			e.Log = nil
			return e, err
		}
	}, "outbox/Settle call by call: the log has all attempts", "append each attempt to the delivery's log once"},
	{"settles one by one", func(b *broken, s storage.Store) {
		b.settle = func(ctx context.Context, ss ...deliver.Settlement) error {
			for _, one := range ss {
				if err := s.Ports().Outbox.Settle(ctx, one); err != nil {
					return err
				}
			}
			return nil
		}
	}, "outbox/Settle refuses an unknown state, and all with it", "all or none"},
	{"numbers attempts itself", func(b *broken, s storage.Store) {
		b.settle = func(ctx context.Context, ss ...deliver.Settlement) error {
			for i := range ss {
				if e, err := s.Ports().Log.Delivery(ctx, "acme", ss[i].DeliveryID); err == nil && ss[i].Attempt != nil {
					again := *ss[i].Attempt
					again.N = e.Attempts + 1
					ss[i].Attempt = &again
				}
			}
			return s.Ports().Outbox.Settle(ctx, ss...)
		}
	}, "outbox/Settle call by call: an attempt recorded already changes nothing", "once"},
	{"claims without lease", func(b *broken, s storage.Store) {
		b.claim = func(ctx context.Context, r deliver.ClaimRequest) ([]deliver.Delivery, error) {
			lease := r.Lease
			r.Lease = 0
			ds, err := s.Ports().Outbox.Claim(ctx, r)
			for i := range ds {
				ds[i].Due = r.Now.Add(lease)
			}
			return ds, err
		}
	}, "outbox/nobody gets a delivery while its lease lasts", "Claim gave a delivery again while its lease lasted"},
	{"claims without lease, in a race", func(b *broken, s storage.Store) {
		b.claim = func(ctx context.Context, r deliver.ClaimRequest) ([]deliver.Delivery, error) {
			r.Lease = 0
			return s.Ports().Outbox.Claim(ctx, r)
		}
	}, "outbox/of concurrent claimants one gets a delivery", "within its lease"},
	{"claims nothing", func(b *broken, _ storage.Store) {
		b.claim = func(context.Context, deliver.ClaimRequest) ([]deliver.Delivery, error) { return nil, nil }
	}, "clock/a commit stamps with the store's clock", "has less than has to be in it: runtime error: index out of range"},
	{"panics", func(b *broken, _ storage.Store) {
		b.claim = func(context.Context, deliver.ClaimRequest) ([]deliver.Delivery, error) { panic("the disk is gone") }
	}, "outbox/Claim leaves out an endpoint to skip", "the store panicked, or its answer has less than has to be in it: the disk is gone"},
	{"skips nobody", func(b *broken, s storage.Store) {
		b.claim = func(ctx context.Context, r deliver.ClaimRequest) ([]deliver.Delivery, error) {
			r.Skip = nil
			return s.Ports().Outbox.Claim(ctx, r)
		}
	}, "outbox/Claim leaves out an endpoint to skip", "leaves out an endpoint"},
	{"claims the newest first", func(b *broken, s storage.Store) {
		b.claim = func(ctx context.Context, r deliver.ClaimRequest) ([]deliver.Delivery, error) {
			ds, err := s.Ports().Outbox.Claim(ctx, r)
			slices.Reverse(ds)
			return ds, err
		}
	}, "outbox/any mix of calls gives what a sorted list would", "the longest due first"},
	{"claims for other parts", func(b *broken, s storage.Store) {
		b.claim = func(ctx context.Context, r deliver.ClaimRequest) ([]deliver.Delivery, error) {
			r.Parts = nil
			return s.Ports().Outbox.Claim(ctx, r)
		}
	}, "parts/Claim gives what is for endpoints of its parts", "Claim of no parts gave a delivery"},
	{"claims though it gave up", func(b *broken, s storage.Store) {
		b.claim = func(ctx context.Context, r deliver.ClaimRequest) ([]deliver.Delivery, error) {
			if ctx.Err() != nil {
				return nil, nil
			}
			return s.Ports().Outbox.Claim(ctx, r)
		}
	}, "lifecycle/Outbox.Claim is done whole or not at all when its context ends", "did nothing"},
	{"reopens nothing", func(b *broken, s storage.Store) {
		b.reopen = func(context.Context, deliver.ReopenRequest) (int, error) { return 1, nil }
	}, "outbox/Reopen makes a failed delivery pending and due", "State after Reopen"},
	{"replays in another order", func(b *broken, s storage.Store) {
		b.step = func(ctx context.Context, q deliver.ReplayStep) (deliver.Replay, []deliver.Delivery, error) {
			r, ds, err := s.Ports().Replays.Step(ctx, q)
			slices.Reverse(ds)
			return r, ds, err
		}
	}, "replays/Step makes the deliveries that are missing, in order", "in the order of the events"},
	{"replays however far the replay is", func(b *broken, s storage.Store) {
		b.step = func(ctx context.Context, q deliver.ReplayStep) (deliver.Replay, []deliver.Delivery, error) {
			if r, err := s.Ports().Replays.Get(ctx, q.Owner, q.EndpointID); err == nil {
				q.Cursor, q.ID = r.Cursor, r.ID
			}
			return s.Ports().Replays.Step(ctx, q)
		}
	}, "replays/a step is made once, whoever asks", "Step from one Cursor"},
	{"takes a later Due from a second Start", func(b *broken, s storage.Store) {
		var due time.Time
		b.start = func(ctx context.Context, r deliver.Replay) error {
			due = r.Due
			return s.Ports().Replays.Start(ctx, r)
		}
		b.getReplay = func(ctx context.Context, owner, endpointID string) (deliver.Replay, error) {
			r, err := s.Ports().Replays.Get(ctx, owner, endpointID)
			if due.After(r.Due) {
				r.Due = due
			}
			return r, err
		}
	}, "replays/Start takes the place of a replay that is done, not of one that runs", "before the first step"},
	{"starts a replay that is done anew", func(b *broken, s storage.Store) {
		b.start = func(ctx context.Context, r deliver.Replay) error {
			if had, err := s.Ports().Replays.Get(ctx, r.Owner, r.EndpointID); err == nil && had.State == deliver.ReplayDone && had.ID == r.ID {
				if err := s.Ports().Replays.Start(ctx, deliver.Replay{ID: "between", Owner: r.Owner, EndpointID: r.EndpointID, State: deliver.ReplayDone}); err != nil {
					return err
				}
			}
			return s.Ports().Replays.Start(ctx, r)
		}
	}, "replays/Start takes the place of a replay that is done, not of one that runs", "when the replay is done"},

	{"adds up source by source", func(b *broken, s storage.Store) {
		b.totals = func(ctx context.Context, sources ...billing.Source) (all []billing.Credits, err error) {
			for _, src := range sources {
				one, err := s.Ports().Ledger.Totals(ctx, src)
				if err != nil {
					return nil, err
				}
				all = append(all, one...)
				runtime.Gosched()
			}
			return all, nil
		}
	}, "ledger/all totals of a call are of one moment", "was seen in part"},
	{"goes below zero", func(b *broken, s storage.Store) {
		b.reserve = func(ctx context.Context, r billing.Reservation) error {
			err := s.Ports().Ledger.Reserve(ctx, r)
			if !errors.Is(err, billing.ErrInsufficient) {
				return err
			}
			if err := s.Ports().Ledger.Append(ctx, billing.Entry{ID: "loan for " + r.ID, Owner: r.Owner, Amount: r.Amount}); err != nil {
				return err
			}
			return s.Ports().Ledger.Reserve(ctx, r)
		}
	}, "ledger/Reserve of more than there is is refused", "Reserve of 11"},
	{"gives back what was spent", func(b *broken, s storage.Store) {
		b.release = func(ctx context.Context, id string) error {
			if err := s.Ports().Ledger.Release(ctx, id); !errors.Is(err, billing.ErrResolved) {
				return err
			}
			return s.Ports().Ledger.Append(ctx, billing.Entry{ID: "back " + id, Owner: "acme", Amount: 4})
		}
	}, "ledger/Release after Commit is refused", "Release after Commit"},
	{"subtracts what is reserved from an entry's balance", func(b *broken, s storage.Store) {
		b.entries = func(ctx context.Context, q billing.EntryQuery) (billing.EntryPage, error) {
			p, err := s.Ports().Ledger.Entries(ctx, q)
			balance, _ := s.Ports().Ledger.Balance(ctx, q.Owner)
			for i := range p.Entries {
				p.Entries[i].Balance -= balance.Reserved
			}
			return p, err
		}
	}, "ledger/the balances of entries made in parallel add up", "what is reserved is not subtracted"},
	{"appends an entry again when asked again", func(b *broken, s storage.Store) {
		n := 0
		b.appendEntries = func(ctx context.Context, entries ...billing.Entry) error {
			for i := range entries {
				n++
				entries[i].ID += fmt.Sprint(" ", n)
			}
			return s.Ports().Ledger.Append(ctx, entries...)
		}
	}, "crash/work cut after any of its calls is done by doing it again", "cut at call 3"},

	{"finds the records of all owners", func(b *broken, s storage.Store) {
		b.getRecord = func(ctx context.Context, owner string, k record.Key) (found record.Record, err error) {
			err = record.ErrNotFound
			s.Ports().Records.Scan(ctx, k.Kind, func(r record.Record) error {
				if r.ID == k.ID {
					found, err = r, nil
				}
				return nil
			})
			return found, err
		}
	}, "records/another owner's record is not shown", "Get has to return ErrNotFound for another owner's record"},
	{"finds a key by the beginning of its lookup", func(b *broken, s storage.Store) {
		b.findRecord = func(ctx context.Context, k record.Kind, lookup string) (found record.Record, err error) {
			err = record.ErrNotFound
			s.Ports().Records.Scan(ctx, k, func(r record.Record) error {
				if strings.HasPrefix(r.Lookup, lookup) {
					found, err = r, nil
				}
				return nil
			})
			return found, err
		}
	}, "records/a name is free for another owner, kind or parent, and none is no name", "found a record without a lookup"},
	{"keeps the caller's memory", func(b *broken, s storage.Store) {
		kept := map[record.Key][]byte{}
		b.apply = func(ctx context.Context, c record.Change) (uint64, error) {
			for _, r := range c.Put {
				kept[r.Key] = r.Data
			}
			return s.Ports().Records.Apply(ctx, c)
		}
		b.getRecord = func(ctx context.Context, owner string, k record.Key) (record.Record, error) {
			r, err := s.Ports().Records.Get(ctx, owner, k)
			r.Data = kept[k]
			return r, err
		}
	}, "records/no memory is shared with callers", "shares no memory with records"},
	{"counts all records, whatever their status", func(b *broken, s storage.Store) {
		b.listRecords = func(ctx context.Context, q record.Query) ([]record.Record, int, error) {
			list, _, err := s.Ports().Records.List(ctx, q)
			q.Status = ""
			_, total, _ := s.Ports().Records.List(ctx, q)
			return list, total, err
		}
	}, "records/List gives those with a status", "List has to give those with a status"},
	{"puts an old version", func(b *broken, s storage.Store) {
		b.apply = func(ctx context.Context, c record.Change) (uint64, error) {
			for i, r := range c.Put {
				if now, err := s.Ports().Records.Get(ctx, r.Owner, r.Key); err == nil && r.Version > 0 {
					c.Put[i].Version = now.Version
				}
			}
			return s.Ports().Records.Apply(ctx, c)
		}
	}, "records/Put of an old version is a conflict", "Put of an old version is a conflict"},
	{"puts record by record", func(b *broken, s storage.Store) {
		b.apply = func(ctx context.Context, c record.Change) (uint64, error) {
			for _, r := range c.Put {
				if _, err := s.Ports().Records.Apply(ctx, record.Change{Put: []record.Record{r}}); err != nil {
					return 0, err
				}
			}
			c.Put = nil
			return s.Ports().Records.Apply(ctx, c)
		}
	}, "records/the first record is not stored when the second is refused", "changes nothing"},
	{"does not look at Need", func(b *broken, s storage.Store) {
		b.apply = func(ctx context.Context, c record.Change) (uint64, error) {
			c.Need = nil
			return s.Ports().Records.Apply(ctx, c)
		}
	}, "records/Need of an unknown record finds nothing", "Need of an unknown record"},
	{"leaves the children of a deleted record", func(b *broken, s storage.Store) {
		b.apply = func(ctx context.Context, c record.Change) (uint64, error) {
			n, err := s.Ports().Records.Apply(ctx, c)
			for _, ref := range c.Delete {
				if err == nil && ref.Kind == record.Monitor {
					n, err = s.Ports().Records.Apply(ctx, record.Change{Put: []record.Record{newEndpoint(ref.Owner, ref.ID, "e4")}})
				}
			}
			return n, err
		}
	}, "records/children go with their parent, once even if named too", "a child has to go with its parent"},
	{"makes a version for a note", func(b *broken, s storage.Store) {
		b.apply = func(ctx context.Context, c record.Change) (uint64, error) {
			n, err := s.Ports().Records.Apply(ctx, c)
			for _, note := range c.Notes {
				if r, e := s.Ports().Records.Get(ctx, note.Owner, note.Key); e == nil && r.Note == note.Text {
					n, err = s.Ports().Records.Apply(ctx, record.Change{Put: []record.Record{r}})
				}
			}
			return n, err
		}
	}, "records/a note changes nothing but the note", "a note changes neither the version nor another field"},
	{"judges limits before the change", func(b *broken, s storage.Store) {
		b.apply = func(ctx context.Context, c record.Change) (uint64, error) {
			if _, err := s.Ports().Records.Apply(ctx, record.Change{Limits: c.Limits}); err != nil {
				return 0, err
			}
			c.Limits = nil
			return s.Ports().Records.Apply(ctx, c)
		}
	}, "limits/a limit is judged for the number of records", "a sum above Max exceeds the limit"},
	{"has no entry of an endpoint's change in the feed", func(b *broken, s storage.Store) {
		b.since = func(ctx context.Context, after uint64, limit int) ([]record.Entry, uint64, error) {
			list, last, err := s.Ports().Records.Since(ctx, after, limit)
			return slices.DeleteFunc(list, func(e record.Entry) bool { return e.Kind == record.Endpoint }), last, err
		}
	}, "feed/each change of a record has an entry, numbered 1, 2, 3 …", "the feed has no holes"},
	{"knows no number that is too old", func(b *broken, s storage.Store) {
		b.since = func(ctx context.Context, after uint64, limit int) ([]record.Entry, uint64, error) {
			list, last, err := s.Ports().Records.Since(ctx, after, limit)
			if errors.Is(err, record.ErrTooOld) {
				err = nil
			}
			return list, last, err
		}
	}, "feed/ErrTooOld brings the last number", "Since above the last number has to return ErrTooOld"},
	{"refuses nobody", func(b *broken, s storage.Store) {
		b.apply = func(ctx context.Context, c record.Change) (uint64, error) {
			if c.Gone != nil {
				c.Gone = &record.Gone{Owner: c.Gone.Owner}
			}
			return s.Ports().Records.Apply(ctx, c)
		}
	}, "gone/a refused owner is refused until it is lifted", "after Gone Put for the owner"},
	{"swaps whatever the version", func(b *broken, s storage.Store) {
		b.swap = func(ctx context.Context, n record.Name, _ uint64, value []byte, ttl time.Duration) (uint64, error) {
			now, _ := s.Ports().State.Get(ctx, n)
			return s.Ports().State.Swap(ctx, n, now.Version, value, ttl)
		}
	}, "state/Swap replaces the version that is stored, and no other", "Swap of an old version is a conflict"},
	{"counts the versions of each value", func(b *broken, s storage.Store) {
		real := map[uint64]uint64{} // by the version that is told
		b.swap = func(ctx context.Context, n record.Name, version uint64, value []byte, ttl time.Duration) (uint64, error) {
			v, err := s.Ports().State.Swap(ctx, n, real[version], value, ttl)
			if err != nil || v == 0 {
				return v, err
			}
			real[version+1] = v
			return version + 1, nil
		}
	}, "state/no version comes twice, nor after a restart", "versions come from one counter of the store"},
	{"erases all owners", func(b *broken, s storage.Store) {
		b.erase = func(ctx context.Context, owner string, targets ...string) (storage.Erased, error) {
			if _, err := s.Ports().Sweeper.Sweep(ctx, "globex"); err != nil {
				return storage.Erased{}, err
			}
			return s.Ports().Sweeper.Sweep(ctx, owner, targets...)
		}
	}, "erase/other owners keep everything", "Erase changed what another owner has"},

	{"does not ask whose delivery it is", func(b *broken, s storage.Store) {
		b.delivery = func(ctx context.Context, owner, id string) (deliver.LogEntry, error) {
			e, err := s.Ports().Log.Delivery(ctx, owner, id)
			if errors.Is(err, deliver.ErrDeliveryNotFound) {
				return s.Ports().Log.Delivery(ctx, "acme", id)
			}
			return e, err
		}
	}, "log/Delivery finds an owner's own and no other", "another owner's"},
	{"counts the page, not all", func(b *broken, s storage.Store) {
		b.deliveries = func(ctx context.Context, q deliver.LogQuery) (deliver.LogPage, error) {
			p, err := s.Ports().Log.Deliveries(ctx, q)
			p.Total = len(p.Entries)
			return p, err
		}
	}, "log/Deliveries shows the first page", "Total has to count all deliveries that match"},

	{"looks at the first batch's fence alone", func(b *broken, s storage.Store) {
		b.commit = func(ctx context.Context, batches []*detect.Batch) error {
			for _, one := range batches {
				one.Fence = batches[0].Fence
			}
			return s.Ports().Journal.Commit(ctx, batches)
		}
	}, "fence/one batch with an old fence refuses the whole commit", "one batch has an old fence"},
	{"hands a given part back at once", func(b *broken, s storage.Store) {
		m := s.Ports().Members
		b.beat = func(ctx context.Context, asked fleet.Beat) (fleet.State, error) {
			if _, err := m.Beat(ctx, fleet.Beat{Fence: asked.Fence, Give: asked.Give, Weight: asked.Weight}); err != nil {
				return fleet.State{}, err
			}
			asked.Give = fleet.Set{}
			return m.Beat(ctx, asked)
		}
	}, "members/Beat does not give what was just given up", "gave back parts of its own Give"},
	{"ends suspects whatever their lease", func(b *broken, s storage.Store) {
		m := s.Ports().Members
		b.beat = func(ctx context.Context, asked fleet.Beat) (fleet.State, error) {
			for _, term := range asked.Suspects {
				if term != asked.Fence.Term {
					m.Leave(ctx, fleet.Fence{Term: term})
				}
			}
			return m.Beat(ctx, asked)
		}
	}, "members/a suspect whose lease is not over goes on", "although its lease is not over"},
	{"draws no epoch", func(b *broken, s storage.Store) {
		b.beat = func(ctx context.Context, asked fleet.Beat) (fleet.State, error) {
			asked.Seen, asked.Lost = 0, false
			return s.Ports().Members.Beat(ctx, asked)
		}
	}, "members/Beat draws another epoch when a node has seen more beats", "has to draw another epoch when Seen"},
	{"loses what signals say", func(b *broken, s storage.Store) {
		b.send = func(ctx context.Context, sig fleet.Signal) error {
			sig.Parts = nil
			return s.Ports().Signals.Send(ctx, sig)
		}
	}, "signals/a signal reaches all that receive", "did not arrive as it was sent"},
}

// inChunksOf is a store that commits n batches at a time.
func inChunksOf(n int) func(*broken, storage.Store) {
	return func(b *broken, s storage.Store) {
		b.commit = func(ctx context.Context, batches []*detect.Batch) error {
			for chunk := range slices.Chunk(batches, n) {
				if err := s.Ports().Journal.Commit(ctx, chunk); err != nil {
					return err
				}
			}
			return nil
		}
	}
}

// Each planted bug is found by its case, which finds nothing without it.
func TestPlantedBugs(t *testing.T) {
	for _, row := range plantedBugs {
		t.Run(row.name, func(t *testing.T) {
			c := caseOf(t, row.find)
			said := func(wrap func(storage.Store) storage.Store) []string {
				return planted.ReportsInBubble(t, func(tb testing.TB) {
					kit := fullKit(wrap)
					runStoreCase(tb, kit, c)
				})
			}
			sound := said(func(s storage.Store) storage.Store { return s })
			planted.Find(t, row.find, row.says, sound, said(func(s storage.Store) storage.Store {
				b := &broken{Store: s}
				row.bug(b, s)
				return b
			}))
		})
	}
}

// A store that loses everything in a restart fails the restart cases.
func TestPlantedLossOfEverything(t *testing.T) {
	for _, find := range []string{
		"restart/records survive a restart", "restart/events stay known after a restart, and numbers go on",
		"restart/reservations stay open over a restart", "restart/what was acknowledged beside Close is there after it",
	} {
		t.Run(find, func(t *testing.T) {
			kit := fullKit(func(s storage.Store) storage.Store { return s })
			kit.Reopen = func(t testing.TB, s storage.Store) storage.Store {
				s.Close(t.Context())
				return kit.Open(t) // without its data
			}
			if said := reportsOf(t, kit, find); len(said) == 0 {
				t.Errorf("%s finds nothing in a store that loses everything", find)
			}
		})
	}
}

// broken is a store with some methods replaced; a nil one is not.
type broken struct {
	storage.Store

	getRecord     func(ctx context.Context, owner string, k record.Key) (record.Record, error)
	findRecord    func(ctx context.Context, k record.Kind, lookup string) (record.Record, error)
	listRecords   func(context.Context, record.Query) ([]record.Record, int, error)
	apply         func(context.Context, record.Change) (uint64, error)
	since         func(ctx context.Context, after uint64, limit int) ([]record.Entry, uint64, error)
	swap          func(ctx context.Context, n record.Name, version uint64, value []byte, ttl time.Duration) (uint64, error)
	commit        func(context.Context, []*detect.Batch) error
	claim         func(context.Context, deliver.ClaimRequest) ([]deliver.Delivery, error)
	settle        func(context.Context, ...deliver.Settlement) error
	reopen        func(context.Context, deliver.ReopenRequest) (int, error)
	deliveries    func(context.Context, deliver.LogQuery) (deliver.LogPage, error)
	delivery      func(ctx context.Context, owner, id string) (deliver.LogEntry, error)
	start         func(context.Context, deliver.Replay) error
	getReplay     func(ctx context.Context, owner, endpointID string) (deliver.Replay, error)
	step          func(context.Context, deliver.ReplayStep) (deliver.Replay, []deliver.Delivery, error)
	reserve       func(context.Context, billing.Reservation) error
	release       func(ctx context.Context, id string) error
	appendEntries func(context.Context, ...billing.Entry) error
	totals        func(context.Context, ...billing.Source) ([]billing.Credits, error)
	entries       func(context.Context, billing.EntryQuery) (billing.EntryPage, error)
	beat          func(context.Context, fleet.Beat) (fleet.State, error)
	send          func(context.Context, fleet.Signal) error
	erase         func(ctx context.Context, owner string, targets ...string) (storage.Erased, error)
}

func (b *broken) Ports() storage.Ports {
	p := b.Store.Ports()
	p.Records = brokenRecords{p.Records, b}
	p.State = brokenState{p.State, b}
	p.Journal = brokenJournal{p.Journal, b}
	p.Outbox = brokenOutbox{p.Outbox, b}
	p.Log = brokenLog{p.Log, b}
	p.Replays = brokenReplays{p.Replays, b}
	p.Ledger = brokenLedger{p.Ledger, b}
	p.Members = brokenMembers{p.Members, b}
	p.Signals = brokenSignals{p.Signals, b}
	p.Sweeper = brokenSweeper{p.Sweeper, b}
	return p
}

type brokenRecords struct {
	record.Store
	b *broken
}

func (r brokenRecords) Get(ctx context.Context, owner string, k record.Key) (record.Record, error) {
	if f := r.b.getRecord; f != nil {
		return f(ctx, owner, k)
	}
	return r.Store.Get(ctx, owner, k)
}

func (r brokenRecords) Find(ctx context.Context, k record.Kind, lookup string) (record.Record, error) {
	if f := r.b.findRecord; f != nil {
		return f(ctx, k, lookup)
	}
	return r.Store.Find(ctx, k, lookup)
}

func (r brokenRecords) List(ctx context.Context, q record.Query) ([]record.Record, int, error) {
	if f := r.b.listRecords; f != nil {
		return f(ctx, q)
	}
	return r.Store.List(ctx, q)
}

func (r brokenRecords) Apply(ctx context.Context, c record.Change) (uint64, error) {
	if f := r.b.apply; f != nil {
		return f(ctx, c)
	}
	return r.Store.Apply(ctx, c)
}

func (r brokenRecords) Since(ctx context.Context, after uint64, limit int) ([]record.Entry, uint64, error) {
	if f := r.b.since; f != nil {
		return f(ctx, after, limit)
	}
	return r.Store.Since(ctx, after, limit)
}

type brokenState struct {
	record.State
	b *broken
}

func (r brokenState) Swap(ctx context.Context, n record.Name, version uint64, value []byte, ttl time.Duration) (uint64, error) {
	if f := r.b.swap; f != nil {
		return f(ctx, n, version, value, ttl)
	}
	return r.State.Swap(ctx, n, version, value, ttl)
}

type brokenJournal struct {
	detect.Journal
	b *broken
}

func (r brokenJournal) Commit(ctx context.Context, batches []*detect.Batch) error {
	if f := r.b.commit; f != nil {
		return f(ctx, batches)
	}
	return r.Journal.Commit(ctx, batches)
}

type brokenOutbox struct {
	deliver.Outbox
	b *broken
}

func (r brokenOutbox) Claim(ctx context.Context, q deliver.ClaimRequest) ([]deliver.Delivery, error) {
	if f := r.b.claim; f != nil {
		return f(ctx, q)
	}
	return r.Outbox.Claim(ctx, q)
}

func (r brokenOutbox) Settle(ctx context.Context, ss ...deliver.Settlement) error {
	if f := r.b.settle; f != nil {
		return f(ctx, ss...)
	}
	return r.Outbox.Settle(ctx, ss...)
}

func (r brokenOutbox) Reopen(ctx context.Context, q deliver.ReopenRequest) (int, error) {
	if f := r.b.reopen; f != nil {
		return f(ctx, q)
	}
	return r.Outbox.Reopen(ctx, q)
}

type brokenLog struct {
	deliver.Log
	b *broken
}

func (r brokenLog) Deliveries(ctx context.Context, q deliver.LogQuery) (deliver.LogPage, error) {
	if f := r.b.deliveries; f != nil {
		return f(ctx, q)
	}
	return r.Log.Deliveries(ctx, q)
}

func (r brokenLog) Delivery(ctx context.Context, owner, id string) (deliver.LogEntry, error) {
	if f := r.b.delivery; f != nil {
		return f(ctx, owner, id)
	}
	return r.Log.Delivery(ctx, owner, id)
}

type brokenReplays struct {
	deliver.Replays
	b *broken
}

func (r brokenReplays) Start(ctx context.Context, q deliver.Replay) error {
	if f := r.b.start; f != nil {
		return f(ctx, q)
	}
	return r.Replays.Start(ctx, q)
}

func (r brokenReplays) Get(ctx context.Context, owner, endpointID string) (deliver.Replay, error) {
	if f := r.b.getReplay; f != nil {
		return f(ctx, owner, endpointID)
	}
	return r.Replays.Get(ctx, owner, endpointID)
}

func (r brokenReplays) Step(ctx context.Context, q deliver.ReplayStep) (deliver.Replay, []deliver.Delivery, error) {
	if f := r.b.step; f != nil {
		return f(ctx, q)
	}
	return r.Replays.Step(ctx, q)
}

type brokenLedger struct {
	billing.Ledger
	b *broken
}

func (r brokenLedger) Reserve(ctx context.Context, q billing.Reservation) error {
	if f := r.b.reserve; f != nil {
		return f(ctx, q)
	}
	return r.Ledger.Reserve(ctx, q)
}

func (r brokenLedger) Release(ctx context.Context, id string) error {
	if f := r.b.release; f != nil {
		return f(ctx, id)
	}
	return r.Ledger.Release(ctx, id)
}

func (r brokenLedger) Append(ctx context.Context, entries ...billing.Entry) error {
	if f := r.b.appendEntries; f != nil {
		return f(ctx, entries...)
	}
	return r.Ledger.Append(ctx, entries...)
}

func (r brokenLedger) Totals(ctx context.Context, sources ...billing.Source) ([]billing.Credits, error) {
	if f := r.b.totals; f != nil {
		return f(ctx, sources...)
	}
	return r.Ledger.Totals(ctx, sources...)
}

func (r brokenLedger) Entries(ctx context.Context, q billing.EntryQuery) (billing.EntryPage, error) {
	if f := r.b.entries; f != nil {
		return f(ctx, q)
	}
	return r.Ledger.Entries(ctx, q)
}

type brokenMembers struct {
	fleet.Members
	b *broken
}

func (r brokenMembers) Beat(ctx context.Context, asked fleet.Beat) (fleet.State, error) {
	if f := r.b.beat; f != nil {
		return f(ctx, asked)
	}
	return r.Members.Beat(ctx, asked)
}

type brokenSignals struct {
	fleet.Signals
	b *broken
}

func (r brokenSignals) Send(ctx context.Context, sig fleet.Signal) error {
	if f := r.b.send; f != nil {
		return f(ctx, sig)
	}
	return r.Signals.Send(ctx, sig)
}

type brokenSweeper struct {
	storage.Sweeper
	b *broken
}

func (s brokenSweeper) Sweep(ctx context.Context, owner string, targets ...string) (storage.Erased, error) {
	if f := s.b.erase; f != nil {
		return f(ctx, owner, targets...)
	}
	return s.Sweeper.Sweep(ctx, owner, targets...)
}
