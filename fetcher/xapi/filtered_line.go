package xapi

import (
	"encoding/json"
	"fmt"

	"github.com/streamwatch/streamwatch/fetcher"
)

// matches are what a filtered stream brings.
type matches struct {
	stream *FilteredStream
	rules  *rules
}

// match is a line as X writes it.
type match struct {
	Data     *post         `json:"data"`
	Includes includes      `json:"includes"`
	Rules    list[rule]    `json:"matching_rules"`
	Errors   list[problem] `json:"errors"` // beside data: what could not be included
}

// signal reads a line. One that cannot be read is a gap; a post that matches rules of
// others alone only shows that the stream is alive.
func (m *matches) signal(line []byte) (fetcher.Signal, error) {
	var v match
	if lenient(json.Unmarshal(line, &v)) != nil {
		return fetcher.Signal{Kind: fetcher.SignalGap}, nil
	}
	if v.Data == nil {
		return notData(v.Errors)
	}
	if v.Data.ID == "" {
		return fetcher.Signal{Kind: fetcher.SignalGap}, nil
	}
	sig := fetcher.Signal{Kind: fetcher.SignalHeartbeat, Billed: m.bill(&v)}
	if queries := m.rules.matched(v.Rules); len(queries) > 0 {
		t := v.Data.tweet(&v.Includes)
		sig.Kind, sig.Post, sig.Queries = fetcher.SignalPost, &t, queries
	}
	return sig, nil
}

// bill counts what X charges for in a line.
func (m *matches) bill(v *match) fetcher.Billed {
	c := m.stream.client
	return v.Includes.bill(c.ledger, c.now(), string(v.Data.ID))
}

// countConnections reads how many connections of a kind an answer has.
func countConnections(body []byte, kind string) (n int, err error) {
	d, err := decodeDocument(body)
	if err != nil {
		return 0, fmt.Errorf("xapi: reading the connections: %w", err)
	}
	var all list[struct {
		Kind  string `json:"endpoint_name"`
		Ended string `json:"disconnected_at"`
	}]
	if len(d.Data) > 0 {
		if err := json.Unmarshal(d.Data, &all); err != nil {
			return 0, err
		}
	}
	for _, c := range all {
		if (c.Kind == kind || c.Kind == "") && c.Ended == "" {
			n++
		}
	}
	return n, nil
}
