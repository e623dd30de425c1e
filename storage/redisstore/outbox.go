package redisstore

import (
	"context"
	"time"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/fleet"
)

// outbox implements deliver.Outbox.
type outbox struct{ s *Store }

// claimChunk is the maximum number of deliveries that a script claims. Each takes the server 10 to
// 60 microseconds, more if they are from many lanes. If the lease has length zero, one script
// claims all deliveries: a second script would claim the same ones again.
const claimChunk = 512

// Claim claims more than 512 deliveries in several steps. If a later step fails, it returns the
// deliveries already claimed, and no error.
func (o outbox) Claim(ctx context.Context, r deliver.ClaimRequest) ([]deliver.Delivery, error) {
	if r.Limit <= 0 {
		return []deliver.Delivery{}, o.s.reach(ctx)
	}
	var claimed []deliver.Delivery
	for {
		step := r
		step.Limit -= len(claimed)
		if r.Lease > 0 {
			step.Limit = min(step.Limit, claimChunk)
		}
		ds, err := o.claim(ctx, &step)
		if err != nil && len(claimed) == 0 {
			return nil, err
		}
		claimed = append(claimed, ds...)
		if err != nil || len(ds) < step.Limit || len(claimed) == r.Limit {
			return claimed, nil
		}
	}
}

func (o outbox) claim(ctx context.Context, r *deliver.ClaimRequest) ([]deliver.Delivery, error) {
	args := make([]any, 0, 5+len(r.Skip))
	args = append(args, stamp(r.Now), stamp(r.Now.Add(r.Lease)), r.Limit, digitsOf(r.Parts), len(r.Skip))
	for _, id := range r.Skip {
		args = append(args, laneOf(id))
	}
	out, err := o.s.run(ctx, "outbox_claim", args...)
	if err != nil {
		return nil, err
	}
	for _, id := range list(out[2]) {
		o.s.stats.lost.Add(1)
		o.s.opts.Logger.Error("queued delivery has no record, something has removed data of this store", "delivery", text(id))
	}
	return o.readable(list(out[0]), list(out[1])), nil
}

// readable decodes claimed deliveries. It logs and omits those that it cannot decode. An error
// would make this claim and every later one fail, for all deliveries.
func (o outbox) readable(stored, storedEvents []any) []deliver.Delivery {
	events := make(map[string]*deliver.Event, len(storedEvents)/2)
	for i := 0; i+1 < len(storedEvents); i += 2 {
		ev, err := decodeEvent(text(storedEvents[i]), text(storedEvents[i+1]))
		if err != nil {
			o.s.opts.Logger.Error("event of a queued delivery cannot be read", "event", text(storedEvents[i]), "error", err)
			continue
		}
		events[ev.ID] = ev
	}
	ds := make([]deliver.Delivery, 0, len(stored)/2)
	for i := 0; i+1 < len(stored); i += 2 {
		d, err := decodeDelivery(text(stored[i]), text(stored[i+1]), events)
		if err != nil {
			o.s.opts.Logger.Error("queued delivery cannot be read", "delivery", text(stored[i]), "error", err)
			continue
		}
		if d.Event != nil {
			ds = append(ds, d)
		}
	}
	return ds
}

func (o outbox) Settle(ctx context.Context, ss ...deliver.Settlement) error {
	args := make([]any, 0, 1+6*len(ss))
	args = append(args, len(ss))
	for i := range ss {
		st := &ss[i]
		if err := st.Validate(); err != nil {
			return err
		}
		if st.Attempt == nil {
			what := "b"
			if st.EndpointDeleted {
				what = "g"
			}
			args = append(args, st.DeliveryID, what, stamp(st.Due), "", 0, "")
			continue
		}
		args = append(args, st.DeliveryID, stateLetters[st.State], stamp(st.Due), hex(uint64(st.Attempt.N)), st.Wait.Milliseconds(), appendAttempt(st.Attempt))
	}
	_, err := o.s.run(ctx, "outbox_settle", args...)
	return err
}

// Reopen implements deliver.Outbox.
func (o outbox) Reopen(ctx context.Context, r deliver.ReopenRequest) (int, error) {
	args := make([]any, 0, 3+len(r.IDs))
	args = append(args, escaped(r.Owner), stamp(r.Due), len(r.IDs))
	for _, id := range r.IDs {
		args = append(args, id)
	}
	out, err := o.s.run(ctx, "outbox_reopen", args...)
	if err != nil {
		return 0, err
	}
	n, err := decimal(text(out[0]))
	return int(n), err
}

func (o outbox) NextDue(ctx context.Context, parts *fleet.Set) (time.Time, bool, error) {
	out, err := o.s.run(ctx, "outbox_next", digitsOf(parts))
	if err != nil || text(out[0]) == "" {
		return time.Time{}, false, err
	}
	due, err := fromStamp(text(out[0]))
	return due, err == nil, err
}

// reach returns an error if the server cannot be reached. It makes a call that reads almost
// nothing.
func (s *Store) reach(ctx context.Context) error {
	_, err := s.run(ctx, "outbox_next", "")
	return err
}

// laneOf returns the lane of an endpoint: its part (one of 1,024) as two letters, then its
// escaped id.
func laneOf(endpointID string) string {
	part := fleet.PartOf(endpointID)
	return string([]byte{'@' + byte(part>>5), '@' + byte(part&31)}) + escaped(endpointID)
}

// endpointOf returns the endpoint id of a lane.
func endpointOf(lane string) (string, error) { return unescaped(lane[min(2, len(lane)):]) }

// digitsOf returns a set of parts as 1,024 digits, 1 for each part in the set. It returns "" for
// nil, which means all parts.
func digitsOf(set *fleet.Set) string {
	if set == nil {
		return ""
	}
	digits := make([]byte, fleet.Parts)
	for part := range digits {
		digits[part] = flag(set.Has(fleet.Part(part)))[0]
	}
	return string(digits)
}
