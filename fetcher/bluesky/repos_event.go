package bluesky

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/fxamacker/cbor/v2"

	"github.com/streamwatch/streamwatch/fetcher"
)

// frameMode decodes the DAG-CBOR of frames and records.
var frameMode = func() cbor.DecMode {
	mode, err := cbor.DecOptions{DefaultMapType: reflect.TypeFor[map[string]any](), MaxNestedLevels: 64}.DecMode()
	if err != nil {
		panic(err)
	}
	return mode
}()

// frameHeader is the first of the two CBOR objects in a frame. The second is a repoEvent.
type frameHeader struct {
	Op   int    `cbor:"op"` // 1, or -1 for an error
	Type string `cbor:"t"`  // kind of the event, such as "#commit"
}

// repoEvent is an event of subscribeRepos (#commit, #sync, #identity, #account or
// #info) or an error.
type repoEvent struct {
	Seq    int64    `cbor:"seq"`
	Time   string   `cbor:"time"`
	Repo   string   `cbor:"repo"` // the account's DID in a #commit
	DID    string   `cbor:"did"`  // the account's DID in other events
	TooBig bool     `cbor:"tooBig"`
	Blocks []byte   `cbor:"blocks"` // a CAR: see carBlocks
	Ops    []repoOp `cbor:"ops"`
	Name   string   `cbor:"name"` // in an #info

	Error   string `cbor:"error"`
	Message string `cbor:"message"`
}

// repoOp is a change of one record.
type repoOp struct {
	Action string   `cbor:"action"`
	Path   string   `cbor:"path"`
	CID    cbor.Tag `cbor:"cid"` // null for a deletion
}

// message emits the signals for one frame, or SignalGap if the frame is unreadable. It
// returns the server's error if the frame is one.
func (s *repoStream) message(b []byte) error {
	if err := s.tellChanged(s.emit); err != nil {
		return err
	}
	var h frameHeader
	var e repoEvent
	rest, err := frameMode.UnmarshalFirst(b, &h)
	if err != nil || frameMode.Unmarshal(rest, &e) != nil {
		return s.emit(fetcher.Signal{Kind: fetcher.SignalGap})
	}
	if h.Op != 1 {
		return s.failed(&e)
	}
	at, _ := time.Parse(time.RFC3339, e.Time)
	signals := s.signals(h.Type, &e, at)
	if s.isBehind(&e) {
		signals = slices.Insert(signals, 0, fetcher.Signal{Kind: fetcher.SignalGap})
	}
	for i := range signals {
		if i == len(signals)-1 {
			s.seq = cmp.Or(max(e.Seq, 0), s.seq)
		}
		// Only the event's last signal has the event's position. A stream that resumes from an
		// earlier signal thus repeats the whole event, and loses none of its signals.
		signals[i].Position, signals[i].At = s.position(), at.UTC()
		if err := s.emit(signals[i]); err != nil {
			return err
		}
	}
	return nil
}

// isBehind reports whether an event's number is below the position. The server was then set up
// anew without an error FutureCursor, and the position follows its new numbers.
func (s *repoStream) isBehind(e *repoEvent) bool { return e.Seq > 0 && e.Seq < s.seq }

// failed returns an error for the server's error e, which ends the stream. The error
// FutureCursor means that the server's sequence numbers are below the position, because the
// server was set up again. failed then resets the position and emits a SignalGap.
func (s *repoStream) failed(e *repoEvent) error {
	if e.Error == "FutureCursor" {
		s.seq = 0
		if err := s.emit(fetcher.Signal{Kind: fetcher.SignalGap, Position: s.position()}); err != nil {
			return err
		}
	}
	return fmt.Errorf("the server ended the stream: %.64q: %.256q", e.Error, e.Message)
}

// signals returns the signals for an event, at least one. If the event is not about a post or a
// repost, or if its account is not wanted, the signal is a SignalHeartbeat.
func (s *repoStream) signals(kind string, e *repoEvent, at time.Time) []fetcher.Signal {
	alive, gap := []fetcher.Signal{{Kind: fetcher.SignalHeartbeat}}, []fetcher.Signal{{Kind: fetcher.SignalGap}}
	if kind == "#info" && e.Name == "OutdatedCursor" {
		return gap
	}
	did := e.Repo
	if kind != "#commit" {
		did = e.DID
	}
	name, wanted := s.name(did)
	switch {
	case !wanted || kind != "#commit" && kind != "#sync":
		return alive
	case kind == "#sync" || e.TooBig: // the account has changed in an unknown way
		return gap
	}
	blocks, err := carBlocks(e.Blocks)
	if err != nil {
		return gap
	}
	var signals []fetcher.Signal
	for i := range e.Ops {
		if g, ok := s.change(&e.Ops[i], did, name, blocks, at); ok {
			signals = append(signals, g)
		}
	}
	if len(signals) == 0 {
		return alive
	}
	return signals
}

// change returns the signal for an operation of a commit. It reports false if the operation is
// not about a post or a repost.
func (s *repoStream) change(op *repoOp, did, name string, blocks map[string][]byte, at time.Time) (fetcher.Signal, bool) {
	gap := fetcher.Signal{Kind: fetcher.SignalGap}
	uri := "at://" + did + "/" + op.Path
	u, ok := parseURI(uri)
	kind := fetcher.SignalPost
	switch {
	case ok && u.collection != postCollection && u.collection != repostCollection:
		return fetcher.Signal{}, false
	case !ok:
		return gap, true
	case op.Action == "delete":
		return fetcher.Signal{Kind: fetcher.SignalDelete, ID: uri}, true
	case op.Action == "update":
		kind = fetcher.SignalEdit
	case op.Action != "create":
		return fetcher.Signal{}, false
	}
	r, err := recordOf(op.CID, blocks)
	if err != nil {
		return gap, true
	}
	t := r.tweet(uri, u, account{did: did, name: name}, blobsOf(s.blobs, did))
	stamp(&t, uri, published(u.key, "", r.CreatedAt, at))
	return fetcher.Signal{Kind: kind, Post: &t}, true
}

// recordOf decodes the record to which link refers. It returns an error if the record is not in
// blocks.
func recordOf(link cbor.Tag, blocks map[string][]byte) (*record, error) {
	block, ok := blocks[cidOf(link)]
	if !ok {
		return nil, errors.New("bluesky: a commit lacks its record")
	}
	var value any
	if err := frameMode.Unmarshal(block, &value); err != nil {
		return nil, err
	}
	b, err := json.Marshal(jsonOf(value))
	if err != nil {
		return nil, err
	}
	r := &record{}
	return r, unmarshal(b, r)
}
