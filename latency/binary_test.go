package latency_test

import (
	"bytes"
	"encoding"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/latency"
)

var (
	_ encoding.BinaryMarshaler   = latency.Snapshot{}
	_ encoding.BinaryUnmarshaler = (*latency.Snapshot)(nil)
)

func encoded(t *testing.T, s latency.Snapshot) []byte {
	t.Helper()
	data, err := s.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestBinaryForm(t *testing.T) {
	for name, s := range map[string]latency.Snapshot{
		"empty":             {},
		"zero":              of(0),
		"the first buckets": of(1, 511, 512, 513, 600),
		"the last bucket":   of(longest, longest),
		"everything":        of(samples(rand.New(rand.NewPCG(1, 0)), 3000)...),
		"a difference":      of(time.Second, time.Minute).Sub(of(time.Second)),
	} {
		var got latency.Snapshot
		data := encoded(t, s)
		if err := got.UnmarshalBinary(data); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if got.String() != s.String() || got.Sum() != s.Sum() || !bytes.Equal(encoded(t, got), data) {
			t.Errorf("%s: %s, want %s", name, got, s)
		}
		if sum := got.Add(of(time.Hour)); sum.Count() != s.Count()+1 {
			t.Errorf("%s: %d with one more, want %d", name, sum.Count(), s.Count()+1)
		}
	}
	if n := len(encoded(t, of(time.Second, time.Second+1, 2*time.Second))); n > 24 {
		t.Errorf("%d bytes for two buckets, want at most 24", n)
	}
}

// Any bytes give a snapshot that can be used, or an error.
func FuzzUnmarshalBinary(f *testing.F) {
	for _, s := range []latency.Snapshot{{}, of(0), of(1, time.Second, longest)} {
		data, _ := s.MarshalBinary()
		f.Add(data)
		f.Add(append(data, 0))
	}
	f.Add([]byte{1, 1})
	f.Fuzz(func(t *testing.T, data []byte) {
		var s latency.Snapshot
		if s.UnmarshalBinary(data) != nil {
			if s.Count() != 0 {
				t.Errorf("%s beside an error", s)
			}
			return
		}
		if q := s.Quantile(1); s.Count() < 0 || q > s.Max() || s.Mean() > s.Max() || (s.Count() == 0) != (len(data) == 0) {
			t.Errorf("%x: %s, p100 %s", data, s, q)
		}
	})
}
