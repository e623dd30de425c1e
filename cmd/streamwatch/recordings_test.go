package main

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/streamwatch/streamwatch/detect/recorder"
	"github.com/streamwatch/streamwatch/enginetest"
)

// The last polls can be had from the operators' address, and are in a file for when the
// process is killed. Both play.
func TestRecordings(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "new", "recordings")
	d := serveDemo(t, "-ops-addr", "127.0.0.1:0", "-recordings", dir)
	ops := d.log.Wait(t, `msg="serving operators" address=(\S+)`)[1]
	if status, text := d.ask(t, "POST", "/v1/social/stream/monitors", `{"name":"space","usernames":["nasa","esa"]}`); status != http.StatusCreated {
		t.Fatal(status, text)
	}
	latest := filepath.Join(dir, "latest.jsonl.gz")
	read := func(data []byte) (polls int) {
		t.Helper()
		rec, err := recorder.Read(bytes.NewReader(data))
		if err != nil && !errors.Is(err, recorder.ErrCut) { // it is being written
			t.Fatal(err)
		}
		return rec.Polls
	}
	var served []byte
	for {
		resp, err := d.client.Get(ops + "/recording")
		if err != nil {
			t.Fatal(err)
		}
		served, err = io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil || resp.StatusCode != http.StatusOK || resp.Header.Get("Content-Type") != "application/gzip" {
			t.Fatalf("status %s, %v, %v", resp.Status, resp.Header, err)
		}
		if kept, err := os.ReadFile(latest); err == nil && read(kept) > 0 && read(served) > 0 {
			break
		}
	}
	if status, _ := d.ask(t, "GET", "/recording", ""); status != http.StatusNotFound {
		t.Errorf("/recording of -addr: %d, want 404: it is the operators' alone", status)
	}
	d.stop()
	d.end(t)
	kept, err := os.ReadFile(latest)
	if err != nil {
		t.Fatal(err)
	}
	enginetest.Replay(t, bytes.NewReader(served))
	enginetest.Replay(t, bytes.NewReader(kept))
}

func TestRecordingsRefuses(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	c := config{recordings: filepath.Join(file, "x")}
	if _, err := c.openRecorder(nil); err == nil {
		t.Error("a directory below a file: no error")
	}
}
