package storetest_test

import (
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"path/filepath"
	"testing"

	"github.com/streamwatch/streamwatch/storage/storetest"
)

func ExamplePowerFile() {
	dir, err := os.MkdirTemp("", "power")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	name := filepath.Join(dir, "journal")
	f, err := storetest.OpenPowerFile(name, os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Fprintln(f, "synced")
	if err := f.Sync(); err != nil {
		log.Fatal(err)
	}
	fmt.Fprintln(f, "acknowledged too early")
	if err := f.LosePower(0); err != nil {
		log.Fatal(err)
	}
	left, err := os.ReadFile(name)
	fmt.Printf("%q, %v\n", left, err)
	// Output: "synced\n", <nil>
}

func TestPowerFile(t *testing.T) {
	write := func(s string) func(*storetest.PowerFile) error {
		return func(f *storetest.PowerFile) error { _, err := io.WriteString(f, s); return err }
	}
	writeAt := func(s string, at int64) func(*storetest.PowerFile) error {
		return func(f *storetest.PowerFile) error { _, err := f.WriteAt([]byte(s), at); return err }
	}
	cut := func(size int64) func(*storetest.PowerFile) error {
		return func(f *storetest.PowerFile) error { return f.Truncate(size) }
	}
	seek := func(offset int64, whence int) func(*storetest.PowerFile) error {
		return func(f *storetest.PowerFile) error { _, err := f.Seek(offset, whence); return err }
	}
	sync := (*storetest.PowerFile).Sync
	for _, row := range []struct {
		name         string
		flag         int
		do           []func(*storetest.PowerFile) error
		before, left string // the file before and after the loss
		keep         int
	}{
		{"nothing written", 0, nil, "abcdef", "abcdef", 0},
		{"appended", os.O_APPEND, []func(*storetest.PowerFile) error{write("gh")}, "abcdefgh", "abcdef", 0},
		{"appended and synced", os.O_APPEND, []func(*storetest.PowerFile) error{write("gh"), sync, write("i")}, "abcdefghi", "abcdefgh", 0},
		{"overwritten", 0, []func(*storetest.PowerFile) error{write("AB")}, "ABcdef", "abcdef", 0},
		{"overwritten twice", 0, []func(*storetest.PowerFile) error{writeAt("BCD", 1), writeAt("xyz", 3)}, "aBCxyz", "abcdef", 0},
		{"overwritten beyond the end", 0, []func(*storetest.PowerFile) error{writeAt("FGH", 5)}, "abcdeFGH", "abcdef", 0},
		{"with a hole", 0, []func(*storetest.PowerFile) error{writeAt("!", 8)}, "abcdef\x00\x00!", "abcdef", 0},
		{"cut", 0, []func(*storetest.PowerFile) error{cut(2)}, "ab", "abcdef", 0},
		{"cut, synced and written", 0, []func(*storetest.PowerFile) error{cut(2), sync, writeAt("C", 2)}, "abC", "ab", 0},
		{"lengthened", 0, []func(*storetest.PowerFile) error{cut(8)}, "abcdef\x00\x00", "abcdef", 0},
		{"after a seek to the end", 0, []func(*storetest.PowerFile) error{seek(-1, io.SeekEnd), write("F"), seek(-1, io.SeekCurrent), write("f")}, "abcdef", "abcdef", 0},
		{"a write torn", os.O_APPEND, []func(*storetest.PowerFile) error{write("ghi")}, "abcdefghi", "abcdefg", 1},
		{"the second write torn", os.O_APPEND, []func(*storetest.PowerFile) error{write("gh"), write("ij")}, "abcdefghij", "abcdefghi", 3},
		{"a cut kept before a torn write", 0, []func(*storetest.PowerFile) error{cut(0), writeAt("xyz", 0)}, "xyz", "x", 1},
		{"all kept", 0, []func(*storetest.PowerFile) error{writeAt("AB", 0)}, "ABcdef", "ABcdef", 99},
	} {
		t.Run(row.name, func(t *testing.T) {
			name := filepath.Join(t.TempDir(), "file")
			must(t, os.WriteFile(name, []byte("abcdef"), 0o600))
			f, err := storetest.OpenPowerFile(name, row.flag, 0)
			must(t, err)
			for _, do := range row.do {
				must(t, do(f))
			}
			content := func() string {
				b, err := os.ReadFile(name)
				must(t, err)
				return string(b)
			}
			if got := content(); got != row.before {
				t.Errorf("before the loss the file has %q, want %q", got, row.before)
			}
			must(t, f.LosePower(row.keep))
			if got := content(); got != row.left {
				t.Errorf("after it the file has %q, want %q", got, row.left)
			}
			for call, err := range map[string]error{
				"Write": write("x")(f), "WriteAt": writeAt("x", 0)(f), "Truncate": cut(0)(f), "Seek": seek(0, 0)(f), "Sync": f.Sync(), "LosePower": f.LosePower(0),
			} {
				if !errors.Is(err, storetest.ErrPowerLost) {
					t.Errorf("%s after the loss gives %v, want ErrPowerLost", call, err)
				}
			}
			must(t, f.Close())
		})
	}
}

func TestPowerFileReads(t *testing.T) {
	name := filepath.Join(t.TempDir(), "file")
	f, err := storetest.OpenPowerFile(name, os.O_CREATE|os.O_EXCL, 0o600)
	must(t, err)
	_, err = io.WriteString(f, "abcdef")
	must(t, err)
	_, err = f.Seek(2, io.SeekStart)
	must(t, err)
	if b, err := io.ReadAll(f); err != nil || string(b) != "cdef" {
		t.Errorf("Read from byte 2 on gives %q, %v", b, err)
	}
	b := make([]byte, 2)
	if _, err := f.ReadAt(b, 1); err != nil || string(b) != "bc" {
		t.Errorf("ReadAt byte 1 gives %q, %v", b, err)
	}
	if _, err := f.Seek(-1, io.SeekStart); err == nil {
		t.Error("Seek to byte -1 gives no error")
	}
	must(t, f.Close())
	if b, err := os.ReadFile(name); err != nil || string(b) != "abcdef" {
		t.Errorf("after Close the file has %q, %v", b, err)
	}
	if _, err := storetest.OpenPowerFile(name, os.O_CREATE|os.O_EXCL, 0o600); !errors.Is(err, os.ErrExist) {
		t.Errorf("a second O_EXCL gives %v, want ErrExist", err)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
