package wshub

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/streamwatch/streamwatch/deliver"
)

const (
	maxFilters = 100 // values of monitor_id, and of rule_id
	maxID      = 128 // bytes of one of them
	maxReason  = 123 // bytes of the reason of a close: RFC 6455, 5.5
)

// filter selects the monitors and rules whose events a client gets; the zero value selects all.
type filter struct{ monitors, rules []string }

func (f *filter) takes(kind deliver.SourceKind, id string) bool {
	if len(f.monitors) == 0 && len(f.rules) == 0 {
		return true
	}
	if kind == deliver.SourceRule {
		return slices.Contains(f.rules, id)
	}
	return slices.Contains(f.monitors, id)
}

// wants reports whether the client gets a frame; gaps concern everybody.
func (f *filter) wants(fr *frame) bool { return fr.source == "" || f.takes(fr.kind, fr.source) }

// start is where a client wants to continue.
type start struct {
	resume bool   // false: from now on
	seq    uint64 // the last number that the client has
	epoch  uint64 // of seq
	bare   bool   // the client gave no epoch
}

// of reports whether seq is a number of the given epoch. A seq of 0 without an epoch is valid in
// every epoch.
func (f *start) of(epoch uint64) bool {
	if f.bare {
		return epoch == 0 || f.seq == 0
	}
	return epoch != 0 && f.epoch == epoch
}

// parseQuery reads the parameters monitor_id, rule_id and since.
func parseQuery(q url.Values) (flt filter, from start, err error) {
	flt = filter{monitors: q["monitor_id"], rules: q["rule_id"]}
	for _, f := range []struct {
		name string
		ids  []string
	}{{"monitor_id", flt.monitors}, {"rule_id", flt.rules}} {
		if len(f.ids) > maxFilters {
			return flt, from, fmt.Errorf("wshub: %s is given %d times: want at most %d", f.name, len(f.ids), maxFilters)
		}
		for _, id := range f.ids {
			if id == "" || len(id) > maxID {
				return flt, from, fmt.Errorf("wshub: %s %.20q is not allowed: want 1 to %d bytes", f.name, id, maxID)
			}
		}
	}
	from.bare = true
	if q.Has("since") {
		from.resume = true
		seq := q.Get("since")
		epoch, rest, ok := strings.Cut(seq, ".")
		if ok {
			seq, from.bare = rest, false
			from.epoch, err = strconv.ParseUint(epoch, 10, 64)
		}
		if err == nil {
			from.seq, err = strconv.ParseUint(seq, 10, 63)
		}
		if err != nil {
			return flt, start{}, fmt.Errorf("wshub: since %.20q is not allowed: want the seq of a frame", q.Get("since"))
		}
	}
	return flt, from, nil
}

// unknown returns "" if the owner has every monitor and rule of the filter. Otherwise it returns
// the reason to close the connection.
func (h *Hub) unknown(ctx context.Context, owner string, flt *filter) (string, error) {
	if h.opts.Has == nil || len(flt.monitors)+len(flt.rules) == 0 {
		return "", nil
	}
	select {
	case h.reads <- struct{}{}:
		defer func() { <-h.reads }()
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
	for _, f := range []struct {
		kind deliver.SourceKind
		name string
		ids  []string
	}{{deliver.SourceMonitor, "monitor", flt.monitors}, {deliver.SourceRule, "rule", flt.rules}} {
		for _, id := range f.ids {
			has, err := h.opts.Has(ctx, owner, f.kind, id)
			if err != nil {
				return "", err
			}
			if !has {
				text := fmt.Sprintf("no such %s: %q", f.name, id)
				return strings.ToValidUTF8(text[:min(len(text), maxReason)], ""), nil
			}
		}
	}
	return "", nil
}
