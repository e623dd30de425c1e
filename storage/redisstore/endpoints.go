package redisstore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/streamwatch/streamwatch/deliver"
)

// endpoints implements deliver.EndpointStore.
type endpoints struct{ s *Store }

// boundField returns a source in the form that journal uses for the list of its endpoints: see
// lua/runs.lua.
func boundField(src sourceName) string { return escaped(src.owner) + src.id }

// fixedPart encodes the fields that an update does not change, except the owner and id of the
// source.
func fixedPart(e *deliver.Endpoint) []byte {
	enc := newEncoder(64)
	enc.text(string(e.Source.Kind))
	enc.text(e.Source.Name)
	enc.instant(e.CreatedAt)
	return enc
}

// decodeEndpoint decodes an endpoint stored by lua/endpoint.lua. number is its position in order of
// creation. Some values are both in a field and in the record; those in the fields are the current
// ones.
func decodeEndpoint(id, stored string) (e deliver.Endpoint, number string, err error) {
	var owner, source, bound, url, status, version, fixed, record string
	if _, err = cutFields(stored, &owner, &source, &bound, &url, &status, &version, &number, &fixed, &record); err != nil {
		return e, "", err
	}
	if e, err = deliver.DecodeEndpoint([]byte(record)); err != nil {
		return e, "", fmt.Errorf("redisstore: %w", err)
	}
	var errs [3]error
	e.ID = id
	e.Source.Owner, errs[0] = unescaped(owner)
	e.Source.ID, errs[1] = unescaped(source)
	e.Version, errs[2] = decimal(version)
	d := newDecoder(fixed)
	e.Source.Kind, e.Source.Name = deliver.SourceKind(d.text()), d.text()
	e.CreatedAt = d.instant()
	return e, number, errors.Join(errs[0], errs[1], errs[2], d.err)
}

func (es endpoints) replyError(out []any, err error) error {
	if err != nil {
		return err
	}
	switch text(out[0]) {
	case "unknown":
		return deliver.ErrEndpointNotFound
	case "duplicate":
		return deliver.ErrEndpointDuplicate
	case "conflict":
		return deliver.ErrEndpointConflict
	}
	return nil
}

func (es endpoints) Create(ctx context.Context, e deliver.Endpoint) error {
	record, err := deliver.EncodeEndpoint(e)
	if err != nil {
		return fmt.Errorf("redisstore: %w", err)
	}
	bound := boundField(sourceName{e.Source.Owner, e.Source.ID})
	url := string(appendField(nil, bound)) + e.URL
	return es.replyError(es.s.run(ctx, "endpoints_create", "", e.ID, escaped(e.Source.Owner), escaped(e.Source.ID),
		bound, url, string(e.Status), strconv.FormatInt(e.Version, 10), fixedPart(&e), record))
}

func (es endpoints) Get(ctx context.Context, owner, id string) (deliver.Endpoint, error) {
	out, err := es.s.run(ctx, "endpoints_get", "", id, escaped(owner))
	if err := es.replyError(out, err); err != nil {
		return deliver.Endpoint{}, err
	}
	e, _, err := decodeEndpoint(id, text(out[1]))
	return e, err
}

func (es endpoints) List(ctx context.Context, owner, sourceID string) ([]deliver.Endpoint, error) {
	prefix := escaped(owner)
	if sourceID != "" {
		prefix += escaped(sourceID)
	}
	out, err := es.s.run(ctx, "endpoints_list", "", prefix)
	if err != nil {
		return nil, err
	}
	stored := list(out[0])
	type numbered struct {
		number string
		e      deliver.Endpoint
	}
	found := make([]numbered, len(stored)/2)
	for i := range found {
		if found[i].e, found[i].number, err = decodeEndpoint(text(stored[2*i]), text(stored[2*i+1])); err != nil {
			return nil, err
		}
	}
	slices.SortFunc(found, func(a, b numbered) int { return strings.Compare(a.number, b.number) })
	endpoints := make([]deliver.Endpoint, len(found))
	for i := range found {
		endpoints[i] = found[i].e
	}
	return endpoints, nil
}

func (es endpoints) Update(ctx context.Context, e deliver.Endpoint) error {
	record, err := deliver.EncodeEndpoint(e)
	if err != nil {
		return fmt.Errorf("redisstore: %w", err)
	}
	return es.replyError(es.s.run(ctx, "endpoints_update", "", e.ID, escaped(e.Source.Owner), e.URL, string(e.Status),
		strconv.FormatInt(e.Version, 10), strconv.FormatInt(e.Version+1, 10), record))
}

// Delete blocks the server for about 15 microseconds for each delivery that it ends. Ending more
// than about 300,000 takes longer than 5 seconds. After that time the server answers other calls
// with BUSY, and they are tried again for Options.RetryFor.
func (es endpoints) Delete(ctx context.Context, owner, id string) error {
	return es.replyError(es.s.run(ctx, "endpoints_delete", "", id, escaped(owner), laneOf(id)))
}

// Scan calls fn for the endpoints by owner and source, 64 at a time: see records.Scan.
func (es endpoints) Scan(ctx context.Context, fn func(deliver.Endpoint) error) error {
	for beyond := ""; ; {
		out, err := es.s.run(ctx, "endpoints_scan", "", beyond, scanChunk)
		if err != nil {
			return err
		}
		stored := list(out[1])
		for i := 0; i+1 < len(stored); i += 2 {
			if err := ctx.Err(); err != nil {
				return err
			}
			e, _, err := decodeEndpoint(text(stored[i]), text(stored[i+1]))
			if err != nil {
				return err
			}
			if err := fn(e); err != nil {
				return err
			}
		}
		if beyond = text(out[0]); beyond == "" {
			return nil
		}
	}
}
