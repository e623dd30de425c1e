package storetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/streamwatch/streamwatch/apikey"
	"github.com/streamwatch/streamwatch/billing"
	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/detect"
	"github.com/streamwatch/streamwatch/fleet"
	"github.com/streamwatch/streamwatch/internal/planted"
	"github.com/streamwatch/streamwatch/monitor"
	"github.com/streamwatch/streamwatch/storage"
	"github.com/streamwatch/streamwatch/storage/memory"
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
				if err := s.Journal().Commit(ctx, []*detect.Batch{one}); err != nil {
					return err
				}
			}
			return nil
		}
	}, "journal/an event without Body fails the whole commit", "Commit stored the events of a batch although another batch of the same call failed: all or nothing"},
	{"names no batch at fault", func(b *broken, s storage.Store) {
		b.commit = func(ctx context.Context, batches []*detect.Batch) error {
			err := s.Journal().Commit(ctx, batches)
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
			return s.Journal().Commit(ctx, batches)
		}
	}, "journal/an id in two commits is one event", "accepted an event whose id it knew"},
	{"knows ids per owner", func(b *broken, s storage.Store) {
		b.commit = func(ctx context.Context, batches []*detect.Batch) error {
			for _, one := range batches {
				for i := range one.Events {
					one.Events[i].ID += one.Events[i].Source.Owner
				}
			}
			return s.Journal().Commit(ctx, batches)
		}
	}, "journal/an event id is known over all owners", "knew from another owner"},
	{"moves cursors forward only", func(b *broken, s storage.Store) {
		b.commit = func(ctx context.Context, batches []*detect.Batch) error {
			for _, one := range batches {
				if one.Cursor == nil {
					continue
				}
				if c, _ := s.Journal().Cursors(ctx, one.Cursor.Target); len(c) > 0 && c[0].Since.After(one.Cursor.Since) {
					one.Cursor = &c[0]
				}
			}
			return s.Journal().Commit(ctx, batches)
		}
	}, "journal/the last cursor counts, even if it is earlier", "committed last"},
	{"does not look at the context", func(b *broken, s storage.Store) {
		b.commit = func(_ context.Context, batches []*detect.Batch) error {
			return s.Journal().Commit(context.Background(), batches)
		}
	}, "lifecycle/Journal honours a context that has ended", "Journal.Commit has to give back the error"},

	{"settles without the log", func(b *broken, s storage.Store) {
		b.delivery = func(ctx context.Context, owner, id string) (deliver.LogEntry, error) {
			e, err := s.Log().Delivery(ctx, owner, id)
			e.Log = nil
			return e, err
		}
	}, "outbox/Settle call by call: the log has all attempts", "append each attempt to the delivery's log once"},
	{"settles one by one", func(b *broken, s storage.Store) {
		b.settle = func(ctx context.Context, ss ...deliver.Settlement) error {
			for _, one := range ss {
				if err := s.Outbox().Settle(ctx, one); err != nil {
					return err
				}
			}
			return nil
		}
	}, "outbox/Settle refuses an unknown state, and all with it", "all or none"},
	{"numbers attempts itself", func(b *broken, s storage.Store) {
		b.settle = func(ctx context.Context, ss ...deliver.Settlement) error {
			for i := range ss {
				if e, err := s.Log().Delivery(ctx, "acme", ss[i].DeliveryID); err == nil && ss[i].Attempt != nil {
					again := *ss[i].Attempt
					again.N = e.Attempts + 1
					ss[i].Attempt = &again
				}
			}
			return s.Outbox().Settle(ctx, ss...)
		}
	}, "outbox/Settle call by call: an attempt recorded already changes nothing", "once"},
	{"claims without lease", func(b *broken, s storage.Store) {
		b.claim = func(ctx context.Context, r deliver.ClaimRequest) ([]deliver.Delivery, error) {
			lease := r.Lease
			r.Lease = 0
			ds, err := s.Outbox().Claim(ctx, r)
			for i := range ds {
				ds[i].Due = r.Now.Add(lease)
			}
			return ds, err
		}
	}, "outbox/nobody gets a delivery while its lease lasts", "Claim gave a delivery again while its lease lasted"},
	{"claims without lease, in a race", func(b *broken, s storage.Store) {
		b.claim = func(ctx context.Context, r deliver.ClaimRequest) ([]deliver.Delivery, error) {
			r.Lease = 0
			return s.Outbox().Claim(ctx, r)
		}
	}, "outbox/of concurrent claimants one gets a delivery", "within its lease"},
	{"skips nobody", func(b *broken, s storage.Store) {
		b.claim = func(ctx context.Context, r deliver.ClaimRequest) ([]deliver.Delivery, error) {
			r.Skip = nil
			return s.Outbox().Claim(ctx, r)
		}
	}, "outbox/Claim leaves out an endpoint to skip", "leaves out an endpoint"},
	{"claims the newest first", func(b *broken, s storage.Store) {
		b.claim = func(ctx context.Context, r deliver.ClaimRequest) ([]deliver.Delivery, error) {
			ds, err := s.Outbox().Claim(ctx, r)
			slices.Reverse(ds)
			return ds, err
		}
	}, "outbox/any mix of calls gives what a sorted list would", "the longest due first"},
	{"claims for other parts", func(b *broken, s storage.Store) {
		b.claim = func(ctx context.Context, r deliver.ClaimRequest) ([]deliver.Delivery, error) {
			r.Parts = nil
			return s.Outbox().Claim(ctx, r)
		}
	}, "parts/Claim gives what is for endpoints of its parts", "Claim of no parts gave a delivery"},
	{"claims though it gave up", func(b *broken, s storage.Store) {
		b.claim = func(ctx context.Context, r deliver.ClaimRequest) ([]deliver.Delivery, error) {
			if ctx.Err() != nil {
				return nil, nil
			}
			return s.Outbox().Claim(ctx, r)
		}
	}, "lifecycle/Outbox.Claim is done whole or not at all when its context ends", "did nothing"},
	{"reopens nothing", func(b *broken, s storage.Store) {
		b.reopen = func(context.Context, deliver.ReopenRequest) (int, error) { return 1, nil }
	}, "outbox/Reopen makes a failed delivery pending and due", "State after Reopen"},
	{"leaves the deliveries of a deleted endpoint", func(b *broken, s storage.Store) {
		b.deleteEndpoint = func(ctx context.Context, owner, id string) error {
			e, err := s.Endpoints().Get(ctx, owner, id)
			if err != nil {
				return err
			}
			e.Status, e.URL = deliver.EndpointDisabled, "deleted"
			return s.Endpoints().Update(ctx, e)
		}
	}, "endpoints/deleting an endpoint ends its open deliveries", "in StateFailed"},
	{"replays in another order", func(b *broken, s storage.Store) {
		b.step = func(ctx context.Context, q deliver.ReplayStep) (deliver.Replay, []deliver.Delivery, error) {
			r, ds, err := s.Replays().Step(ctx, q)
			slices.Reverse(ds)
			return r, ds, err
		}
	}, "replays/Step makes the deliveries that are missing, in order", "in the order of the events"},
	{"replays however far the replay is", func(b *broken, s storage.Store) {
		b.step = func(ctx context.Context, q deliver.ReplayStep) (deliver.Replay, []deliver.Delivery, error) {
			if r, err := s.Replays().Get(ctx, q.Owner, q.EndpointID); err == nil {
				q.Cursor, q.ID = r.Cursor, r.ID
			}
			return s.Replays().Step(ctx, q)
		}
	}, "replays/a step is made once, whoever asks", "Step from one Cursor"},

	{"goes below zero", func(b *broken, s storage.Store) {
		b.reserve = func(ctx context.Context, r billing.Reservation) error {
			err := s.Ledger().Reserve(ctx, r)
			if !errors.Is(err, billing.ErrInsufficient) {
				return err
			}
			if err := s.Ledger().Append(ctx, billing.Entry{ID: "loan for " + r.ID, Owner: r.Owner, Amount: r.Amount}); err != nil {
				return err
			}
			return s.Ledger().Reserve(ctx, r)
		}
	}, "ledger/Reserve of more than there is is refused", "Reserve of 11"},
	{"gives back what was spent", func(b *broken, s storage.Store) {
		b.release = func(ctx context.Context, id string) error {
			if err := s.Ledger().Release(ctx, id); !errors.Is(err, billing.ErrResolved) {
				return err
			}
			return s.Ledger().Append(ctx, billing.Entry{ID: "back " + id, Owner: "acme", Amount: 4})
		}
	}, "ledger/Release after Commit is refused", "Release after Commit"},
	{"subtracts what is reserved from an entry's balance", func(b *broken, s storage.Store) {
		b.entries = func(ctx context.Context, q billing.EntryQuery) (billing.EntryPage, error) {
			p, err := s.Ledger().Entries(ctx, q)
			balance, _ := s.Ledger().Balance(ctx, q.Owner)
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
			return s.Ledger().Append(ctx, entries...)
		}
	}, "crash/work cut after any of its calls is done by doing it again", "cut at call 3"},

	{"does not ask whose monitor it is", func(b *broken, s storage.Store) {
		b.getMonitor = func(ctx context.Context, owner, id string) (found monitor.Monitor, err error) {
			err = s.Monitors().Scan(ctx, func(m monitor.Monitor) error {
				if m.ID == id {
					found = m
				}
				return nil
			})
			if err == nil && found.ID == "" {
				err = monitor.ErrNotFound
			}
			return found, err
		}
	}, "monitors/Get does not find another owner's id", "Get does not find another owner's id"},
	{"counts all monitors, whatever their status", func(b *broken, s storage.Store) {
		b.listMonitors = func(ctx context.Context, q monitor.Query) (monitor.Page, error) {
			p, err := s.Monitors().List(ctx, q)
			q.Status = ""
			all, _ := s.Monitors().List(ctx, q)
			p.Total = all.Total
			return p, err
		}
	}, "monitors/List shows one status", "Total has to count all monitors that match"},
	{"keeps the caller's memory", func(b *broken, s storage.Store) {
		kept := map[string]monitor.Monitor{}
		b.createMonitor = func(ctx context.Context, m monitor.Monitor) error {
			kept[m.ID] = m
			return s.Monitors().Create(ctx, m)
		}
		b.getMonitor = func(_ context.Context, _, id string) (monitor.Monitor, error) { return kept[id], nil }
	}, "monitors/what Create was given shares no memory with the store", "copy records on their way in and out"},
	{"updates whatever the version", func(b *broken, s storage.Store) {
		b.updateMonitor = func(ctx context.Context, m monitor.Monitor) error {
			if now, err := s.Monitors().Get(ctx, m.Owner, m.ID); err == nil {
				m.Version = now.Version
			}
			return s.Monitors().Update(ctx, m)
		}
	}, "monitors/Update of a version that is not stored is a conflict and changes nothing", "older than the stored one"},
	{"forgets the scope of a key", func(b *broken, s storage.Store) { b.editKey = func(k *apikey.Key) { k.Scope = "" } },
		"keys/a key comes back as it was created", "Get gave another key than Create was given"},
	{"erases all owners", func(b *broken, s storage.Store) {
		b.erase = func(ctx context.Context, owner string, targets ...string) (storage.Erased, error) {
			if _, err := s.(storage.Eraser).Erase(ctx, "globex"); err != nil {
				return storage.Erased{}, err
			}
			return s.(storage.Eraser).Erase(ctx, owner, targets...)
		}
	}, "erase/other owners keep everything", "Erase changed what another owner has"},

	{"does not ask whose delivery it is", func(b *broken, s storage.Store) {
		b.delivery = func(ctx context.Context, owner, id string) (deliver.LogEntry, error) {
			e, err := s.Log().Delivery(ctx, owner, id)
			if errors.Is(err, deliver.ErrDeliveryNotFound) {
				return s.Log().Delivery(ctx, "acme", id)
			}
			return e, err
		}
	}, "log/Delivery finds an owner's own and no other", "another owner's"},
	{"counts the page, not all", func(b *broken, s storage.Store) {
		b.deliveries = func(ctx context.Context, q deliver.LogQuery) (deliver.LogPage, error) {
			p, err := s.Log().Deliveries(ctx, q)
			p.Total = len(p.Entries)
			return p, err
		}
	}, "log/Deliveries shows the first page", "Total has to count all deliveries that match"},

	{"looks at the first batch's fence alone", func(b *broken, s storage.Store) {
		b.commit = func(ctx context.Context, batches []*detect.Batch) error {
			for _, one := range batches {
				one.Fence = batches[0].Fence
			}
			return s.Journal().Commit(ctx, batches)
		}
	}, "fence/one batch with an old fence refuses the whole commit", "one batch has an old fence"},
	{"hands a given part back at once", func(b *broken, s storage.Store) {
		m := s.(storage.Sharing).Members()
		b.beat = func(ctx context.Context, asked fleet.Beat) (fleet.State, error) {
			if _, err := m.Beat(ctx, fleet.Beat{Fence: asked.Fence, Give: asked.Give, Weight: asked.Weight}); err != nil {
				return fleet.State{}, err
			}
			asked.Give = fleet.Set{}
			return m.Beat(ctx, asked)
		}
	}, "members/Beat does not give what was just given up", "gave back parts of its own Give"},
	{"ends suspects whatever their lease", func(b *broken, s storage.Store) {
		m := s.(storage.Sharing).Members()
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
			return s.(storage.Sharing).Members().Beat(ctx, asked)
		}
	}, "members/Beat draws another epoch when a node has seen more beats", "has to draw another epoch when Seen"},
	{"has no entry of an endpoint's change in the feed", func(b *broken, s storage.Store) {
		b.since = func(ctx context.Context, after uint64, limit int) ([]fleet.Change, error) {
			cs, err := s.(storage.Sharing).Feed().Since(ctx, after, limit)
			return slices.DeleteFunc(cs, func(c fleet.Change) bool { return c.Kind == fleet.Endpoint }), err
		}
	}, "feed/each change of a record has its entry", "the feed has to have each change of a record"},
	{"loses what signals say", func(b *broken, s storage.Store) {
		b.send = func(ctx context.Context, sig fleet.Signal) error {
			sig.Parts = nil
			return s.(storage.Sharing).Signals().Send(ctx, sig)
		}
	}, "signals/a signal reaches all that receive", "did not arrive as it was sent"},
}

// Each planted bug is found by its case, which finds nothing without it.
func TestPlantedBugs(t *testing.T) {
	for _, row := range plantedBugs {
		t.Run(row.name, func(t *testing.T) {
			c := caseOf(t, row.find)
			said := func(wrap func(storage.Store) storage.Store) []string {
				return planted.ReportsInBubble(t, func(tb testing.TB) {
					kit := fullKit(wrap)
					if strings.HasPrefix(row.find, "keys/") || strings.HasPrefix(row.find, "erase/") { // a handle lacks these roles
						kit = Kit{Open: func(testing.TB) storage.Store { return wrap(memory.New(memory.Options{})) }}
					}
					runStoreCase(tb, kit, c)
				})
			}
			sound := said(func(s storage.Store) storage.Store { return s })
			planted.Find(t, row.find, row.says, sound, said(func(s storage.Store) storage.Store {
				b := &broken{everything: s.(everything)}
				row.bug(b, s)
				return b
			}))
		})
	}
}

// A store that loses everything in a restart fails the restart cases.
func TestPlantedLossOfEverything(t *testing.T) {
	for _, find := range []string{
		"restart/monitors survive a restart", "restart/events stay known after a restart, and numbers go on",
		"restart/reservations stay open over a restart", "restart/what was acknowledged beside Close is there after it",
	} {
		t.Run(find, func(t *testing.T) {
			kit := fullKit(func(s storage.Store) storage.Store { return s })
			kit.Reopen = func(t testing.TB, s storage.Store) storage.Store {
				s.Close(t.Context())
				return kit.Open(t) // without its data
			}
			if said := record(t, kit, find); len(said) == 0 {
				t.Errorf("%s finds nothing in a store that loses everything", find)
			}
		})
	}
}

// everything is a store with all optional roles.
type everything interface {
	storage.Store
	storage.Sharing
	storage.Eraser
}

// broken is a store with some methods replaced; a nil one is not.
type broken struct {
	everything

	createMonitor  func(context.Context, monitor.Monitor) error
	getMonitor     func(ctx context.Context, owner, id string) (monitor.Monitor, error)
	updateMonitor  func(context.Context, monitor.Monitor) error
	listMonitors   func(context.Context, monitor.Query) (monitor.Page, error)
	deleteEndpoint func(ctx context.Context, owner, id string) error
	commit         func(context.Context, []*detect.Batch) error
	claim          func(context.Context, deliver.ClaimRequest) ([]deliver.Delivery, error)
	settle         func(context.Context, ...deliver.Settlement) error
	reopen         func(context.Context, deliver.ReopenRequest) (int, error)
	deliveries     func(context.Context, deliver.LogQuery) (deliver.LogPage, error)
	delivery       func(ctx context.Context, owner, id string) (deliver.LogEntry, error)
	step           func(context.Context, deliver.ReplayStep) (deliver.Replay, []deliver.Delivery, error)
	reserve        func(context.Context, billing.Reservation) error
	release        func(ctx context.Context, id string) error
	appendEntries  func(context.Context, ...billing.Entry) error
	entries        func(context.Context, billing.EntryQuery) (billing.EntryPage, error)
	beat           func(context.Context, fleet.Beat) (fleet.State, error)
	since          func(ctx context.Context, after uint64, limit int) ([]fleet.Change, error)
	send           func(context.Context, fleet.Signal) error
	editKey        func(*apikey.Key)
	erase          func(ctx context.Context, owner string, targets ...string) (storage.Erased, error)
}

func (b *broken) Monitors() monitor.Store { return brokenMonitors{b.everything.Monitors(), b} }

type brokenMonitors struct {
	monitor.Store
	b *broken
}

func (r brokenMonitors) Create(ctx context.Context, m monitor.Monitor) error {
	if f := r.b.createMonitor; f != nil {
		return f(ctx, m)
	}
	return r.Store.Create(ctx, m)
}

func (r brokenMonitors) Get(ctx context.Context, owner, id string) (monitor.Monitor, error) {
	if f := r.b.getMonitor; f != nil {
		return f(ctx, owner, id)
	}
	return r.Store.Get(ctx, owner, id)
}

func (r brokenMonitors) Update(ctx context.Context, m monitor.Monitor) error {
	if f := r.b.updateMonitor; f != nil {
		return f(ctx, m)
	}
	return r.Store.Update(ctx, m)
}

func (r brokenMonitors) List(ctx context.Context, q monitor.Query) (monitor.Page, error) {
	if f := r.b.listMonitors; f != nil {
		return f(ctx, q)
	}
	return r.Store.List(ctx, q)
}

func (b *broken) Endpoints() deliver.EndpointStore {
	return brokenEndpoints{b.everything.Endpoints(), b}
}

type brokenEndpoints struct {
	deliver.EndpointStore
	b *broken
}

func (r brokenEndpoints) Delete(ctx context.Context, owner, id string) error {
	if f := r.b.deleteEndpoint; f != nil {
		return f(ctx, owner, id)
	}
	return r.EndpointStore.Delete(ctx, owner, id)
}

func (b *broken) Journal() detect.Journal { return brokenJournal{b.everything.Journal(), b} }

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

func (b *broken) Outbox() deliver.Outbox { return brokenOutbox{b.everything.Outbox(), b} }

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

func (b *broken) Log() deliver.Log { return brokenLog{b.everything.Log(), b} }

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

func (b *broken) Replays() deliver.Replays { return brokenReplays{b.everything.Replays(), b} }

type brokenReplays struct {
	deliver.Replays
	b *broken
}

func (r brokenReplays) Step(ctx context.Context, q deliver.ReplayStep) (deliver.Replay, []deliver.Delivery, error) {
	if f := r.b.step; f != nil {
		return f(ctx, q)
	}
	return r.Replays.Step(ctx, q)
}

func (b *broken) Ledger() billing.Ledger { return brokenLedger{b.everything.Ledger(), b} }

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

func (r brokenLedger) Entries(ctx context.Context, q billing.EntryQuery) (billing.EntryPage, error) {
	if f := r.b.entries; f != nil {
		return f(ctx, q)
	}
	return r.Ledger.Entries(ctx, q)
}

func (b *broken) Members() fleet.Members { return brokenMembers{b.everything.Members(), b} }

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

func (b *broken) Feed() fleet.Feed { return brokenFeed{b.everything.Feed(), b} }

type brokenFeed struct {
	fleet.Feed
	b *broken
}

func (r brokenFeed) Since(ctx context.Context, after uint64, limit int) ([]fleet.Change, error) {
	if f := r.b.since; f != nil {
		return f(ctx, after, limit)
	}
	return r.Feed.Since(ctx, after, limit)
}

func (b *broken) Signals() fleet.Signals { return brokenSignals{b.everything.Signals(), b} }

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

func (b *broken) Keys() apikey.Store { return brokenKeys{b.everything.Keys(), b} }

type brokenKeys struct {
	apikey.Store
	b *broken
}

func (r brokenKeys) Create(ctx context.Context, k apikey.Key) error {
	if r.b.editKey != nil {
		r.b.editKey(&k)
	}
	return r.Store.Create(ctx, k)
}

func (b *broken) Erase(ctx context.Context, owner string, targets ...string) (storage.Erased, error) {
	if b.erase != nil {
		return b.erase(ctx, owner, targets...)
	}
	return b.everything.Erase(ctx, owner, targets...)
}
