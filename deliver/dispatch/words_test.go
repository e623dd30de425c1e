package dispatch_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"unicode/utf8"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/deliver/dispatch"
)

// What a sender of an embedding program says is cut to what is stored, and a
// failure is never without an error, by which the log tells it from a success.
func TestSendersWordsAreBounded(t *testing.T) {
	long := strings.Repeat("ü", 1<<20)
	for _, row := range []struct {
		name    string
		result  deliver.Result
		err     string // "" for a long one
		preview int    // bytes
	}{
		{"a long error", deliver.Result{Error: long}, "", 0},
		{"a long preview", deliver.Result{Error: "x", ResponsePreview: long}, "x", 4096},
		{"a long preview of a success", deliver.Result{OK: true, ResponsePreview: "a" + long}, "", 4095},
		{"not UTF-8", deliver.Result{Error: "x\xff", ResponsePreview: "y\xff"}, "x\ufffd", 4},
		{"binary", deliver.Result{Error: "x", ResponsePreview: "\x1f\x8b\x08\x00"}, "x", len("(binary, not shown)")},
		{"no error, a status", deliver.Result{StatusCode: 500}, "status 500", 0},
		{"nothing at all", deliver.Result{}, "failed without a reason", 0},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				row.result.Permanent = true
				b, m := manages(t, func(context.Context, *deliver.Delivery) deliver.Result { return row.result }, &watcher{})
				b.commit("a", "p", 1, true)
				synctest.Wait()
				r, err := m.Test(t.Context(), "o", "a")
				if err != nil {
					t.Fatal(err)
				}
				b.stop()
				a := b.log()[0].Log[0]
				if a.Error != r.Error || a.ResponsePreview != r.ResponsePreview {
					t.Errorf("the log has %q, the test call %q", a.Error, r.Error)
				}
				if row.result.OK != (a.Error == "") || len(a.Error) > 1024 || row.err != "" && a.Error != row.err {
					t.Errorf("error %.40q of %d bytes, want %q of at most 1024", a.Error, len(a.Error), row.err)
				}
				if len(a.ResponsePreview) != row.preview || !utf8.ValidString(a.ResponsePreview+a.Error) {
					t.Errorf("preview of %d bytes, want %d, all in UTF-8", len(a.ResponsePreview), row.preview)
				}
			})
		})
	}
}

// A delivery to an endpoint for which the program has no sender says so in the log, and waits.
func TestNoSenderForAScheme(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, nil, func(c *dispatch.Config) { c.Senders = map[string]deliver.Sender{"ftp": c.Senders["https"]} })
		b.endpoint("a")
		b.run()
		b.commit("a", "p", 1, true)
		synctest.Wait()
		b.stop()
		e := b.log()[0]
		if len(b.all()) != 0 || len(e.Log) != 1 || e.Log[0].Error != `no sender for scheme "https"` || e.State != deliver.StateRetrying {
			t.Errorf("state %s after %+v, want one attempt that names the scheme, and another to come", e.State, e.Log)
		}
	})
}
