package main

import (
	"context"
	"flag"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/enginetest/upgrade"
)

var update = flag.String("update", "", "write the test data of a release, such as v0.1.0")

// A file that an earlier release has written is read, and gone on with.
func TestFilesOfEarlierReleases(t *testing.T) {
	if *update != "" {
		path := filepath.Join("testdata", "upgrade", *update+".jsonl")
		s := open(t, path, Options{Now: func() time.Time { return upgrade.At }})
		if err := upgrade.Fill(t.Context(), s); err != nil {
			t.Fatal(err)
		}
		if err := s.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := os.Remove(path + ".lock"); err != nil {
			t.Fatal(err)
		}
	}
	files, err := filepath.Glob(filepath.Join("testdata", "upgrade", "*.jsonl"))
	if err != nil || len(files) == 0 {
		t.Fatalf("there are no test data (%v): see CONTRIBUTING.md", err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			path := filepath.Join(t.TempDir(), "streams.jsonl")
			if err := os.WriteFile(path, data, 0o600); err != nil {
				t.Fatal(err)
			}
			s := open(t, path, Options{Now: upgrade.Clock})
			defer s.Close(context.Background())
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
			defer cancel()
			if err := upgrade.Check(ctx, s); err != nil {
				t.Error(err)
			}
		})
	}
}
