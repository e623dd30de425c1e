package roles_test

import (
	"errors"
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/internal/roles"
	"github.com/streamwatch/streamwatch/monitor"
	"github.com/streamwatch/streamwatch/rule"
	"github.com/streamwatch/streamwatch/storage/memory"
)

// fill gives every field a value of its own, also fields that are added later.
func fill(v reflect.Value, n *int) {
	*n++
	switch {
	case v.Type() == reflect.TypeFor[time.Time]():
		v.Set(reflect.ValueOf(time.Date(2026, 1, 1, *n, 0, 0, 0, time.UTC)))
	case v.Kind() == reflect.Struct:
		for i := range v.NumField() {
			fill(v.Field(i), n)
		}
	case v.Kind() == reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0), n)
	case v.Kind() == reflect.String:
		v.SetString(fmt.Sprint("value ", *n))
	case v.Kind() == reflect.Bool:
		v.SetBool(true)
	case v.CanFloat():
		v.SetFloat(float64(*n))
	case v.CanInt():
		v.SetInt(int64(*n))
	default:
		panic("no value for " + v.Type().String())
	}
}

// stored creates a record with all fields, and returns it and what is then read.
func stored[T any](edit func(*T), create func(T) error, get func(T) (T, error)) (want, got any, err error) {
	var v T
	fill(reflect.ValueOf(&v).Elem(), new(int))
	edit(&v)
	if err := create(v); err != nil {
		return v, nil, err
	}
	got, err = get(v)
	return v, got, err
}

func TestEveryFieldIsStored(t *testing.T) {
	ctx := t.Context()
	records := memory.New(memory.Options{}).Ports().Records
	monitors, rules, endpoints := roles.Monitors(records), roles.Rules(records), roles.Endpoints(records)
	for name, store := range map[string]func() (want, got any, err error){
		"monitor": func() (want, got any, err error) {
			return stored(func(m *monitor.Monitor) { m.Status, m.Version = monitor.Paused, 1 },
				func(m monitor.Monitor) error { return monitors.Create(ctx, m) },
				func(m monitor.Monitor) (monitor.Monitor, error) { return monitors.Get(ctx, m.Owner, m.ID) })
		},
		"rule": func() (want, got any, err error) {
			return stored(func(r *rule.Rule) { r.Status, r.Version = rule.Paused, 1 },
				func(r rule.Rule) error { return rules.Create(ctx, r) },
				func(r rule.Rule) (rule.Rule, error) { return rules.Get(ctx, r.Owner, r.ID) })
		},
		"endpoint": func() (want, got any, err error) {
			return stored(func(e *deliver.Endpoint) { e.Source.Kind, e.Version = deliver.SourceRule, 1 },
				func(e deliver.Endpoint) error {
					return errors.Join(endpoints.Create(ctx, e), endpoints.SetFailing(ctx, e))
				},
				func(e deliver.Endpoint) (deliver.Endpoint, error) { return endpoints.Get(ctx, e.Source.Owner, e.ID) })
		},
	} {
		want, got, err := store()
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("the %s came back as %+v, %v\nwant %+v", name, got, err, want)
		}
	}
}
