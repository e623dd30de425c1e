package receipt

import (
	"bufio"
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// ErrSeal is the error of a record that was changed or cut short.
var ErrSeal = errors.New("receipt: the seal does not match")

// Read reads a record and checks its seal with the key in its first line. Whose key that is,
// the caller has to know. What Read returns was signed.
func Read(r io.Reader) (*Record, error) {
	lines := bufio.NewScanner(r)
	lines.Buffer(make([]byte, 0, 4096), maxLine)
	sum := sha256.New()
	var rec reader
	for n := 1; lines.Scan(); n++ {
		line := lines.Bytes()
		if rec.seal != nil {
			return nil, fmt.Errorf("%w: line %d is behind it", ErrSeal, n)
		}
		if err := rec.line(line); err != nil {
			return nil, fmt.Errorf("receipt: line %d: %w", n, err)
		}
		if rec.seal == nil {
			sum.Write(line)
			sum.Write([]byte{'\n'})
		}
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("receipt: read: %w", err)
	}
	switch seal := rec.seal; {
	case seal == nil:
		return nil, fmt.Errorf("%w: there is none, the run did not end or the file is cut", ErrSeal)
	case !bytes.Equal(seal.SHA256, sum.Sum(nil)):
		return nil, fmt.Errorf("%w: the lines have another SHA-256", ErrSeal)
	case len(rec.Run.PublicKey) != ed25519.PublicKeySize || !ed25519.Verify(rec.Run.PublicKey, seal.SHA256, seal.Signature):
		return nil, fmt.Errorf("%w: the signature is not of the key in line 1", ErrSeal)
	}
	return &rec.Record, nil
}

// reader has what was read of a record so far.
type reader struct {
	Record
	stage int // index in order of the line before
	seal  *Seal
}

// order lists the kinds of lines in their order, after "" for the beginning.
var order = []string{"", "run", "post", "arrival", "finish", "seal"}

// line reads one line, which has to be of the kind before or a later one.
func (r *reader) line(b []byte) error {
	var head struct{ Kind string }
	if err := json.Unmarshal(b, &head); err != nil {
		return err
	}
	stage := r.stage
	for stage < len(order) && order[stage] != head.Kind {
		stage++
	}
	single := head.Kind == "run" || head.Kind == "finish" || head.Kind == "seal"
	if stage == len(order) || stage == 0 || single && stage == r.stage || r.stage == 0 && stage > 1 || stage == len(order)-1 && r.stage != stage-1 {
		return fmt.Errorf("kind %q is not allowed here: want run, posts, arrivals, finish and seal, in this order", head.Kind)
	}
	r.stage = stage
	var err error
	switch head.Kind {
	case "run":
		if err = json.Unmarshal(b, &r.Run); err == nil && r.Run.Schema != Schema {
			err = fmt.Errorf("schema %q is not allowed: want %s", r.Run.Schema, Schema)
		}
	case "post":
		err = add(b, &r.Posts, MaxPosts)
	case "arrival":
		err = add(b, &r.Arrivals, MaxArrivals)
	case "finish":
		err = json.Unmarshal(b, &r.Finish)
	case "seal":
		r.seal = new(Seal)
		err = json.Unmarshal(b, r.seal)
	}
	return err
}

func add[T any](b []byte, to *[]T, limit int) error {
	if len(*to) == limit {
		return fmt.Errorf("more than %d lines of a kind are not allowed", limit)
	}
	var v T
	if err := json.Unmarshal(b, &v); err != nil {
		return err
	}
	*to = append(*to, v)
	return nil
}
