package roles

import (
	"context"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/monitor"
	"github.com/streamwatch/streamwatch/record"
	"github.com/streamwatch/streamwatch/rule"
)

// MonitorStore has the monitors of a store.
type MonitorStore struct{ role[monitor.Monitor] }

// Monitors returns the monitors in records.
func Monitors(records record.Store) MonitorStore {
	return MonitorStore{role[monitor.Monitor]{records: records, kind: record.Monitor, encode: monitor.Monitor.Record, decode: monitor.FromRecord,
		notFound: monitor.ErrNotFound, duplicate: monitor.ErrDuplicate, conflict: monitor.ErrConflict}}
}

func (m MonitorStore) List(ctx context.Context, q monitor.Query) (monitor.Page, error) {
	list, total, err := m.page(ctx, q.Owner, string(q.Status), q.Page, q.PageSize)
	if err != nil {
		return monitor.Page{}, err
	}
	return monitor.Page{Monitors: list, Total: total, Page: q.Page, PageSize: q.PageSize}, nil
}

// RuleStore has the rules of a store.
type RuleStore struct{ role[rule.Rule] }

// Rules returns the rules in records.
func Rules(records record.Store) RuleStore {
	return RuleStore{role[rule.Rule]{records: records, kind: record.Rule, encode: rule.Rule.Record, decode: rule.FromRecord,
		notFound: rule.ErrNotFound, duplicate: rule.ErrDuplicate, conflict: rule.ErrConflict}}
}

func (rs RuleStore) List(ctx context.Context, q rule.Query) (rule.Page, error) {
	list, total, err := rs.page(ctx, q.Owner, string(q.Status), q.Page, q.PageSize)
	if err != nil {
		return rule.Page{}, err
	}
	return rule.Page{Rules: list, Total: total, Page: q.Page, PageSize: q.PageSize}, nil
}

// EndpointStore has the endpoints of a store.
type EndpointStore struct{ role[deliver.Endpoint] }

// Endpoints returns the endpoints in records.
func Endpoints(records record.Store) EndpointStore {
	return EndpointStore{role[deliver.Endpoint]{records: records, kind: record.Endpoint, encode: deliver.Endpoint.Record, decode: deliver.EndpointFromRecord,
		notFound: deliver.ErrEndpointNotFound, duplicate: deliver.ErrEndpointDuplicate, conflict: deliver.ErrEndpointConflict}}
}

// SetFailing stores FailingSince.
func (es EndpointStore) SetFailing(ctx context.Context, e deliver.Endpoint) error {
	return es.apply(ctx, record.Change{Notes: []record.Note{e.FailingNote()}})
}

// List returns an owner's endpoints, those of one source unless sourceID is "".
func (es EndpointStore) List(ctx context.Context, owner, sourceID string) ([]deliver.Endpoint, error) {
	const all = 1 << 30
	parents := []record.Key{{}}
	if sourceID != "" {
		parents = []record.Key{{Kind: record.Monitor, ID: sourceID}, {Kind: record.Rule, ID: sourceID}}
	}
	var found []deliver.Endpoint
	for _, parent := range parents {
		list, _, err := es.list(ctx, record.Query{Owner: owner, Parent: parent, Limit: all})
		if err != nil {
			return nil, err
		}
		found = append(found, list...)
	}
	return found, nil
}
