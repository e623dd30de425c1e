package recorder

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/streamwatch/streamwatch/detect/internal/poll"
)

// compareState compares the state that the target has now with that recorded before the poll.
// It leaves out what the target's own polls do not decide: its subscribers, and how far back
// a target is read that this process has not read yet.
func (a *player) compareState(g *given) *Difference {
	var s poll.State
	poll.StateOf(a.polls, a.slot, &s)
	s = (&hider{plain: true}).state(a.line.kind(), s)
	was := g.Before
	if g.Before.Search != nil {
		if d := a.compareReaders(was.Readers, s.Readers); d != nil {
			return d
		}
	}
	s.Readers, was.Readers = nil, nil
	if s.Cold && was.Cold {
		s.Since = was.Since // a subscriber that joined may have moved it back
	}
	if g.Pushed {
		s.UserID = was.UserID
	}
	return a.first("given.before", was, s)
}

// compareReaders compares whether the query was read for its rules, leaving out those that
// have joined again since.
func (a *player) compareReaders(was, now []poll.ReaderState) *Difference {
	for i := range was {
		w := &was[i]
		for k := range now {
			n := &now[k]
			if n.Source.ID == w.Source.ID && n.Since.Equal(w.Since) && n.From.Equal(w.From) && n.Read.Equal(w.Read) && n.Fresh != w.Fresh {
				return a.difference(fmt.Sprintf("given.before.readers[%d].fresh", i), fmt.Sprint(w.Fresh), fmt.Sprint(n.Fresh))
			}
		}
	}
	return nil
}

// compare compares what was decided.
func (a *player) compare() *Difference {
	l := a.line
	h := &hider{plain: true} // what was given to play is hidden already
	now, was := h.decided(a.got), l.Decided
	now.Calls = a.read
	if was.Next.IsZero() && !l.Query || !a.scheduled || was.Fills != nil { // to read a gap does not change it
		now.Next, was.Next = time.Time{}, time.Time{}
	}
	if d := a.first("decided", was, now); d != nil || !l.Query {
		return d
	}
	return a.first("given.recalled", l.Given.Recalled, h.recalled(a.got.Recalled))
}

// first finds the first difference of two values as JSON.
func (a *player) first(field string, was, now any) *Difference {
	left, right := encoded(was), encoded(now)
	if left == right {
		return nil
	}
	path, l, r := differ(field, decodedAny(left), decodedAny(right))
	return a.difference(path, encoded(l), encoded(r))
}

func (a *player) difference(field, was, now string) *Difference {
	return &Difference{Target: a.line.Key, Source: a.env.Platform, At: a.line.Given.At, Poll: a.played, Field: field, Recorded: cut(was), Replayed: cut(now)}
}

// cut bounds what a difference shows.
func cut(s string) string {
	const most = 400
	if len(s) > most {
		return s[:most] + "…"
	}
	return s
}

// encoded returns a value as JSON, "" for nil.
func encoded(v any) string {
	if v == nil {
		return ""
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return err.Error()
	}
	return string(bytes.TrimSpace(b.Bytes()))
}

func decodedAny(s string) (v any) {
	dec := json.NewDecoder(bytes.NewReader([]byte(s)))
	dec.UseNumber()
	if dec.Decode(&v) != nil {
		return s
	}
	return v
}

// differ finds where two decoded JSON values differ first, in the order of fields' names. The
// path of that place begins with path.
func differ(path string, was, now any) (at string, left, right any) {
	switch w := was.(type) {
	case map[string]any:
		n, ok := now.(map[string]any)
		if !ok {
			break
		}
		all := maps.Clone(w)
		maps.Copy(all, n)
		for _, name := range slices.Sorted(maps.Keys(all)) {
			if encoded(w[name]) != encoded(n[name]) {
				return differ(path+"."+name, w[name], n[name])
			}
		}
	case []any:
		n, ok := now.([]any)
		if !ok {
			break
		}
		for i := range max(len(w), len(n)) {
			switch {
			case i >= len(w):
				return fmt.Sprintf("%s[%d]", path, i), nil, n[i]
			case i >= len(n):
				return fmt.Sprintf("%s[%d]", path, i), w[i], nil
			case encoded(w[i]) != encoded(n[i]):
				return differ(fmt.Sprintf("%s[%d]", path, i), w[i], n[i])
			}
		}
	}
	return path, was, now
}
