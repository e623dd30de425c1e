package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/billing"
)

func top(t testing.TB, s *Store, id string, amount billing.Credits) {
	t.Helper()
	if err := s.Ports().Ledger.Append(t.Context(), billing.Entry{ID: id, Owner: "acme", Amount: amount}); err != nil {
		t.Fatal(err)
	}
}

func available(t testing.TB, s *Store) billing.Credits {
	t.Helper()
	b, err := s.Ports().Ledger.Balance(t.Context(), "acme")
	if err != nil {
		t.Fatal(err)
	}
	return b.Available
}

// threeLines makes a file in which acme gets 1, 2 and 4 credits, each in a line
// of its own, and says where each of these lines begins, and the file ends.
func threeLines(t testing.TB) (data []byte, at [4]int) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "streams.jsonl")
	s := open(t, path, Options{})
	for i, id := range []string{"a", "b", "c"} {
		at[i] = s.size
		top(t, s, id, 1<<i)
	}
	at[3] = s.size
	if err := s.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil || len(data) != at[3] {
		t.Fatalf("the file has %d bytes (error %v), the store counts %d", len(data), err, at[3])
	}
	return data, at
}

// credits opens a file with this content and gives what acme has.
func credits(t testing.TB, data []byte) (billing.Credits, error) {
	t.Helper()
	s, err := replay(data)
	if err != nil {
		return 0, err
	}
	return s.balance("acme", time.Time{}).Available, nil
}

// A crash in the middle of a write leaves a part of the last line.
func TestATornLineIsCutOff(t *testing.T) {
	data, at := threeLines(t)
	for end := at[2]; end < at[3]; end++ {
		if got, err := credits(t, data[:end]); err != nil || got != 1+2 {
			t.Errorf("cut at byte %d of the last line: %d credits, error %v, want 3: those of the lines before", end-at[2], got, err)
		}
		garbage := append(bytes.Clone(data[:end]), make([]byte, at[3]-end)...)
		if got, err := credits(t, garbage); err != nil || got != 1+2 {
			t.Errorf("zeros from byte %d of the last line on: %d credits, error %v, want 3", end-at[2], got, err)
		}
	}
	if got, err := credits(t, data); err != nil || got != 1+2+4 {
		t.Errorf("the whole file: %d credits, error %v, want 7", got, err)
	}
}

// A store that opened a torn file goes on where its last whole line ends.
func TestATornStoreGoesOn(t *testing.T) {
	data, at := threeLines(t)
	path := filepath.Join(t.TempDir(), "streams.jsonl")
	if err := os.WriteFile(path, data[:at[3]-1], 0o600); err != nil {
		t.Fatal(err)
	}
	s := open(t, path, Options{})
	top(t, s, "c", 8)
	if err := s.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	s = open(t, path, Options{})
	defer s.Close(context.Background())
	if got := available(t, s); got != 1+2+8 {
		t.Errorf("%d credits after the torn line was written again, want 11", got)
	}
}

// A flipped byte in the last line looks like a torn write; anywhere else it has
// damaged what was acknowledged.
func TestAFlippedByteIsFound(t *testing.T) {
	data, at := threeLines(t)
	for i := range data {
		for _, flip := range []byte{1, 0x20, 0x80} {
			bad := bytes.Clone(data)
			bad[i] ^= flip
			got, err := credits(t, bad)
			switch {
			case i < len(magic):
				if !errors.Is(err, ErrForeign) {
					t.Errorf("byte %d, of the first line, flipped: error %v, want ErrForeign", i, err)
				}
			case i < at[2]:
				if !errors.Is(err, ErrDamaged) {
					t.Errorf("byte %d, before the last line, flipped: %d credits, error %v, want ErrDamaged", i, got, err)
				}
			default:
				if err != nil && !errors.Is(err, ErrDamaged) || err == nil && got != 1+2 {
					t.Errorf("byte %d, of the last line, flipped: %d credits, error %v, want 3: the line is not there", i, got, err)
				}
			}
		}
	}
}

// What is refused is left as it is.
func TestOpenLeavesWhatItRefuses(t *testing.T) {
	data, at := threeLines(t)
	damaged := bytes.Clone(data)
	damaged[at[1]+30] ^= 1
	for name, row := range map[string]struct {
		data []byte
		want error
	}{
		"damaged":        {damaged, ErrDamaged},
		"empty":          {nil, ErrForeign},
		"something":      {[]byte("Dear diary,\n"), ErrForeign},
		"an older store": {[]byte("streamwatch customstore 2\n"), ErrForeign},
		"a newer store":  {[]byte("streamwatch customstore 4\n"), ErrForeign},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "streams.jsonl")
			if err := os.WriteFile(path, row.data, 0o600); err != nil {
				t.Fatal(err)
			}
			for range 2 { // and the lock is given back
				if _, err := Open(path, Options{}); !errors.Is(err, row.want) {
					t.Errorf("Open gives %v, want %v", err, row.want)
				}
			}
			if got, err := os.ReadFile(path); err != nil || !bytes.Equal(got, row.data) {
				t.Errorf("Open has changed the file that it refused (error %v)", err)
			}
		})
	}
}

// A disk that failed once is not trusted until the file has been read again.
func TestAFailedDiskEndsTheStore(t *testing.T) {
	path := filepath.Join(t.TempDir(), "streams.jsonl")
	s := open(t, path, Options{})
	top(t, s, "a", 1)
	real := s.file
	s.file = badDisk{real}
	entry := billing.Entry{ID: "b", Owner: "acme", Amount: 2}
	if err := s.Ports().Ledger.Append(t.Context(), entry); !errors.Is(err, errDisk) {
		t.Errorf("Append on a disk that fails gives %v, want its error", err)
	}
	s.file = real
	if err := s.Ports().Ledger.Append(t.Context(), entry); !errors.Is(err, errDisk) {
		t.Errorf("a later Append gives %v, want the error that ended the store", err)
	}
	if err := s.Close(t.Context()); err != nil {
		t.Error(err)
	}
	s = open(t, path, Options{})
	defer s.Close(context.Background())
	top(t, s, "b", 2)
	if got := available(t, s); got != 1+2 {
		t.Errorf("%d credits after the failed call was made again, want 3", got)
	}
}

var errDisk = errors.New("no space left on device")

// badDisk writes a part.
type badDisk struct{ file }

func (d badDisk) Write(b []byte) (int, error) {
	n, _ := d.file.Write(b[:len(b)/2])
	return n, errDisk
}

// FuzzReplay: no file makes the store panic, and one that is taken makes the
// same state when it is written again.
func FuzzReplay(f *testing.F) {
	data, at := threeLines(f)
	f.Add(data)
	f.Add(data[:at[1]+5])
	f.Add([]byte(magic + "00000002 "))
	f.Add(append([]byte(magic), frame([]byte(`{"records":{"put":[{"id":"e","row":{"Name":"n"}}],"remove":["e"]}}`))...))
	f.Fuzz(func(t *testing.T, data []byte) {
		if s, err := replay(data); err == nil {
			before, err := s.snapshot()
			if err != nil {
				t.Fatal(err)
			}
			again, err := replay(before)
			if err != nil {
				t.Fatal(err)
			}
			if after, err := again.snapshot(); err != nil || !bytes.Equal(after, before) {
				t.Errorf("a state is another one when it was written and read (error %v)", err)
			}
		}
	})
}
