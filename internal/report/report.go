package report

import (
	"bytes"
	"context"
	"encoding/gob"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/streamwatch/streamwatch/record"
)

const (
	// Every is how often an engine saves its report.
	Every = time.Minute
	// Gone is how long after its last report an engine is taken for gone.
	Gone = 5 * time.Minute
	// Kept is for how long the report of an engine is kept.
	Kept = 8 * 24 * time.Hour
)

// Report is what an engine has saved.
type Report struct {
	Node  string // "" without a fleet
	Named bool   // the node's name is one that it will have again
	At    time.Time
	Left  bool      // the engine was shut down then
	Began time.Time // since when an engine of this name counts

	Rings     [len(ranges)]ring
	Endpoints map[string]*endpoint
	Sources   []Source
}

// Source is the state of a platform, as an engine sees it.
type Source struct {
	Name  string // "" for the source without a name
	State SourceState
	Since time.Time // since when it is Down or Limited
	Until time.Time // when a limit ends; zero if that is not known
	Error string    // why it is not Up
}

// SourceState says whether a source can be polled.
type SourceState string

// States of a source, from the best to the worst.
const (
	Up      SourceState = "up"
	Limited SourceState = "limited" // it refuses all calls until a time, or what may be spent is spent
	Down    SourceState = "down"    // all polls of the last minute or more have failed
)

// Missing reports whether the engine should run, and has saved nothing for Gone.
func (r *Report) Missing(now time.Time) bool {
	return r.Named && !r.Left && now.Sub(r.At) >= Gone && !r.old(now)
}

// old reports whether the report is no longer kept.
func (r *Report) old(now time.Time) bool { return now.Sub(r.At) >= Kept }

// nodes names the value with the names of all nodes; nameOf that of a node's report.
var nodes = record.Name{Space: "reports"}

func nameOf(node string) record.Name { return record.Name{Space: "report", ID: node} }

// Read returns the reports of all nodes, sorted by name. Those older than Kept may be among them.
func Read(ctx context.Context, state record.State) ([]Report, error) {
	var list []Report
	names, _, err := load[[]string](ctx, state, nodes)
	for _, name := range names {
		r, version, err := load[Report](ctx, state, nameOf(name))
		if err != nil {
			return nil, err
		}
		if version > 0 { // saved, and not removed meanwhile
			list = append(list, r)
		}
	}
	return list, err
}

// enter adds a node to the names, and removes the reports that are older than Kept.
func enter(ctx context.Context, state record.State, node string, now time.Time) error {
	return change(ctx, state, nodes, func(names *[]string) (bool, error) {
		kept := []string{node}
		for _, name := range *names {
			r, version, err := load[Report](ctx, state, nameOf(name))
			switch {
			case err != nil:
				return false, err
			case name == node:
			case version == 0 || !r.old(now): // version 0: not saved yet
				kept = append(kept, name)
			default:
				if _, err := state.Swap(ctx, nameOf(name), version, nil, 0); err != nil && !errors.Is(err, record.ErrConflict) {
					return false, err
				}
			}
		}
		slices.Sort(kept)
		changed := !slices.Equal(kept, *names)
		*names = kept
		return changed, nil
	})
}

// Forget removes an owner's endpoints from the reports of all nodes.
func Forget(ctx context.Context, state record.State, owner string) error {
	names, _, err := load[[]string](ctx, state, nodes)
	if err != nil {
		return err
	}
	for _, name := range names {
		err := change(ctx, state, nameOf(name), func(r *Report) (bool, error) {
			n := len(r.Endpoints)
			forget(r.Endpoints, func(of string) bool { return of == owner })
			return len(r.Endpoints) < n, nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// load reads a value. It is the zero value, of version 0, if there is none.
func load[T any](ctx context.Context, state record.State, name record.Name) (v T, version uint64, err error) {
	stored, err := state.Get(ctx, name)
	if errors.Is(err, record.ErrNotFound) {
		return v, 0, nil
	}
	if err == nil {
		err = gob.NewDecoder(bytes.NewReader(stored.Data)).Decode(&v)
	}
	if err != nil {
		return v, 0, fmt.Errorf("report: read %s %q: %w", name.Space, name.ID, err)
	}
	return v, stored.Version, nil
}

// change changes a value until nobody else has changed it meanwhile. do reports whether to store it.
func change[T any](ctx context.Context, state record.State, name record.Name, do func(*T) (bool, error)) error {
	for {
		v, version, err := load[T](ctx, state, name)
		if err != nil {
			return err
		}
		if changed, err := do(&v); err != nil || !changed {
			return err
		}
		if err = swap(ctx, state, name, version, &v); !errors.Is(err, record.ErrConflict) {
			return err
		}
	}
}

func swap[T any](ctx context.Context, state record.State, name record.Name, version uint64, v *T) error {
	var b bytes.Buffer
	err := gob.NewEncoder(&b).Encode(v)
	if err == nil {
		_, err = state.Swap(ctx, name, version, b.Bytes(), 0)
	}
	return err
}
