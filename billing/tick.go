package billing

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"
)

// bill lists the charges and changes of one owner's streams at a tick.
type bill struct {
	owner   string
	balance Credits // available before the charges
	entries []Entry
	streams []streamKey // the active streams that the balance covers, including free ones
	// Active streams that the balance no longer covers, and paused ones that it covers again.
	pause, resume []Stream
}

// tick charges all streams up to the current minute. Then it pauses and resumes streams. In this
// order, many pauses do not delay the charges.
func (m *Meter) tick(ctx context.Context) error {
	at := time.Now()
	bills, err := m.chargeAll(ctx, at)
	ctx, cancel := context.WithDeadline(ctx, at.Add(changeTimeout))
	defer cancel()
	for _, b := range bills {
		for _, s := range b.pause {
			if ctx.Err() != nil {
				return err
			}
			m.pause(ctx, s, b.balance)
		}
	}
	for _, b := range bills {
		for _, s := range b.resume {
			if ctx.Err() != nil {
				return err
			}
			m.resume(ctx, s)
		}
	}
	return err
}

// chargeAll charges all streams up to the current minute, and returns the owners' bills.
func (m *Meter) chargeAll(ctx context.Context, at time.Time) ([]*bill, error) {
	ctx, cancel := context.WithTimeout(ctx, tickTimeout)
	defer cancel()
	wall := m.cfg.Now()
	now := minuteOf(wall)
	owners := make(map[string][]Stream)
	running := make(map[streamKey]time.Time) // to Stream.ChangedAt
	waiting := 0
	err := m.cfg.Streams.Each(ctx, func(s Stream) error {
		owners[s.Owner] = append(owners[s.Owner], s)
		if s.Paused {
			waiting++
		} else {
			running[streamKey{s.Kind, s.ID}] = s.ChangedAt
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("billing: list streams: %w", err)
	}
	m.count.add(func(s *Stats) { s.Running, s.Waiting = int64(len(running)), int64(waiting) })
	for k := range m.paid { // a stream that is not active owes nothing
		if _, ok := running[k]; !ok {
			delete(m.paid, k)
		}
	}
	for k, changed := range running { // a new stream owes its minutes, even if this tick cannot charge it
		if _, ok := m.paid[k]; !ok {
			n := m.unseen(changed, wall, at)
			m.paid[k] = payment{now - 1 - minute(n), wall.Add(-n * time.Minute), at.Add(-n * time.Minute)}
		}
	}
	m.last = at
	for owner := range m.low {
		if owners[owner] == nil {
			delete(m.low, owner)
		}
	}
	return m.chargeEach(ctx, owners, payment{now, wall, at})
}

// chargeEach charges the streams of each owner in turn. It charges in batches, before it has read
// the balances of all owners. If the time runs out, the next tick begins with the owners that are
// left.
func (m *Meter) chargeEach(ctx context.Context, owners map[string][]Stream, paid payment) ([]*bill, error) {
	reading, cancel := context.WithDeadline(ctx, paid.at.Add(balanceTimeout))
	defer cancel()
	turn := slices.Sorted(maps.Keys(owners))
	begin, _ := slices.BinarySearch(turn, m.first)
	turn, m.first = slices.Concat(turn[begin:], turn[:begin]), ""
	var bills, due []*bill
	var errs []error
	size := 0 // entries of due
	for i, owner := range turn {
		b, err := m.billOf(reading, owner, owners[owner], paid.minute, paid.at)
		if err != nil {
			errs = append(errs, err)
			if reading.Err() == nil {
				continue
			}
			errs = append(errs, fmt.Errorf("billing: no time for %d of %d owners", len(turn)-i, len(turn)))
			if i == 0 { // reading this owner's balance took all of the time: begin with the next owner
				i++
			}
			m.first = turn[i%len(turn)]
			break
		}
		if size += len(b.entries); size > appendBatch {
			errs = append(errs, m.charge(ctx, due, paid))
			due, size = nil, len(b.entries)
		}
		bills, due = append(bills, b), append(due, b)
	}
	return bills, errors.Join(append(errs, m.charge(ctx, due, paid))...)
}

// billOf decides which of an owner's streams the balance pays for. It begins with the active
// streams, oldest first. A stream goes on if the remaining credits cover its uncharged minutes
// and its next hour. Then come the paused streams, oldest first. A stream is to be resumed if the
// remaining credits cover its next restart minutes. billOf itself changes no stream.
func (m *Meter) billOf(ctx context.Context, owner string, streams []Stream, now minute, at time.Time) (*bill, error) {
	balance, err := m.cfg.Ledger.Balance(ctx, owner)
	if err != nil {
		return nil, fmt.Errorf("billing: balance of %q: %w", owner, err)
	}
	slices.SortFunc(streams, func(a, b Stream) int {
		if a.Paused != b.Paused {
			if b.Paused {
				return -1
			}
			return 1
		}
		return cmp.Or(a.CreatedAt.Compare(b.CreatedAt), cmp.Compare(a.ID, b.ID), cmp.Compare(a.Kind, b.Kind))
	})
	out := &bill{owner: owner, balance: balance.Available}
	left := balance.Available
	for _, s := range streams {
		key := streamKey{s.Kind, s.ID}
		if s.Paused {
			if need := cost(s.Price.PerDay, now, restart); left >= need {
				left -= need
				out.resume = append(out.resume, s)
			}
			continue
		}
		missed := m.missed(key, now, at)
		need := cost(s.Price.PerDay, now-minute(missed), missed) + cost(s.Price.PerDay, now, runway)
		if left < need {
			out.pause = append(out.pause, s)
			delete(m.paid, key) // its uncharged minutes are free, even if the pause fails
			continue
		}
		left -= need
		out.streams = append(out.streams, key)
		for k := now - minute(missed); k <= now; k++ {
			if amount := cost(s.Price.PerDay, k, 1); amount > 0 {
				out.entries = append(out.entries, Entry{
					ID: chargeID(s.Kind, s.ID, k), Owner: owner, Kind: s.Kind, Amount: -amount, At: k.start(),
					SourceID: s.ID, SourceName: s.Name, NumAccounts: s.Accounts, TierLabel: s.Price.Tier, Rate: s.Price.PerAccountPerDay,
				})
			}
		}
	}
	return out, nil
}

// missed returns the number of minutes before now in which a stream was active and not charged.
// It counts at most the minutes since the last payment by the runtime's clock, so a jump of the
// wall clock charges nothing. It rounds that time to the nearest minute, because timers are not
// exact.
func (m *Meter) missed(key streamKey, now minute, at time.Time) int64 {
	p, ok := m.paid[key]
	if !ok || now <= p.minute {
		return 0
	}
	begun := minuteOf(p.wall.Add(at.Sub(p.at)).Round(time.Minute)) - p.minute
	return max(0, min(int64(now-p.minute), int64(begun), catchUp+1)-1)
}

// unseen returns how many minutes before now a stream owes that this tick sees first. Another
// process may have charged the stream until it died, at most Takeover before the last tick.
func (m *Meter) unseen(changed, wall, at time.Time) time.Duration {
	if m.last.IsZero() || changed.IsZero() {
		return 0
	}
	died := wall.Add(m.last.Sub(at) - m.cfg.Takeover) // at the earliest
	from := max(minuteOf(changed), minuteOf(died), m.began-1) + 1
	return time.Duration(max(0, min(minuteOf(wall)-from, catchUp)))
}

func (m *Meter) pause(ctx context.Context, s Stream, balance Credits) {
	if err := m.cfg.Streams.Pause(ctx, s); err != nil { // the next tick tries again
		m.cfg.Logger.Error("cannot pause a stream", "kind", s.Kind, "stream", s.ID, "owner", s.Owner, "error", err)
		return
	}
	m.count.add(func(s *Stats) { s.Paused, s.Running, s.Waiting = s.Paused+1, s.Running-1, s.Waiting+1 })
	m.cfg.Logger.Info("stream paused for lack of credits", "kind", s.Kind, "stream", s.ID, "owner", s.Owner, "balance", balance)
}

func (m *Meter) resume(ctx context.Context, s Stream) {
	err := m.cfg.Streams.Resume(ctx, s)
	if errors.Is(err, ErrInsufficient) {
		return
	}
	if err != nil {
		m.cfg.Logger.Error("cannot resume a stream", "kind", s.Kind, "stream", s.ID, "owner", s.Owner, "error", err)
		return
	}
	m.count.add(func(s *Stats) { s.Resumed, s.Running, s.Waiting = s.Resumed+1, s.Running+1, s.Waiting-1 })
	m.cfg.Logger.Info("stream resumed, credits cover it", "kind", s.Kind, "stream", s.ID, "owner", s.Owner)
}

// charge appends the entries of several owners in one call of the ledger. The call returns
// ErrInsufficient if an owner has spent credits since the balance was read. Then charge appends
// the entries of each owner separately, so the other owners are charged.
func (m *Meter) charge(ctx context.Context, bills []*bill, paid payment) error {
	var errs []error
	for len(bills) > 0 {
		n, size := 1, len(bills[0].entries)
		for n < len(bills) && size+len(bills[n].entries) <= appendBatch {
			size += len(bills[n].entries)
			n++
		}
		batch := bills[:n]
		bills = bills[n:]
		entries := make([]Entry, 0, size)
		for _, b := range batch {
			entries = append(entries, b.entries...)
		}
		err := m.append(ctx, entries)
		if err == nil {
			for _, b := range batch {
				m.settled(b, paid)
			}
			continue
		}
		if !errors.Is(err, ErrInsufficient) || n == 1 {
			errs = append(errs, err)
			continue
		}
		for _, b := range batch {
			if err := m.append(ctx, b.entries); err != nil {
				errs = append(errs, fmt.Errorf("owner %q: %w", b.owner, err))
				continue
			}
			m.settled(b, paid)
		}
	}
	return errors.Join(errs...)
}

// append adds entries to the ledger in batches. After an error, some entries may have been added.
// The next tick adds them again with the same ids, so they are not charged twice.
func (m *Meter) append(ctx context.Context, entries []Entry) error {
	for batch := range slices.Chunk(entries, appendBatch) {
		if err := m.cfg.Ledger.Append(ctx, batch...); err != nil {
			return err
		}
	}
	return nil
}

// settled records that the streams of b are charged, and reports low balances.
func (m *Meter) settled(b *bill, paid payment) {
	var charged Credits
	for i := range b.entries {
		charged -= b.entries[i].Amount
	}
	m.count.add(func(s *Stats) { s.Charged += charged })
	for _, k := range b.streams {
		m.paid[k] = paid
	}
	if m.cfg.OnThreshold == nil {
		return
	}
	balance := b.balance - charged
	was, is := m.low[b.owner], 0
	for is < len(m.marks) && balance <= m.marks[is] {
		is++
	}
	m.low[b.owner] = is
	for i := was; i < is; i++ {
		m.cfg.OnThreshold(Threshold{Owner: b.owner, Mark: m.marks[i], Balance: balance})
	}
}
