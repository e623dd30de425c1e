package engineui_test

import (
	"bytes"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/streamwatch/streamwatch"
	"github.com/streamwatch/streamwatch/apikey"
	"github.com/streamwatch/streamwatch/engineui"
)

// Logins and changes are logged with who made them, of what and from where, and so are those that are
// refused; keys, and pages that are only read, are not.
func TestLogOfLoginsAndChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		d := &door{}
		d.world = newWorld(t, func(_ *streamwatch.Config, ui *engineui.Config) {
			ui.Authorize, ui.Logger = nil, slog.New(slog.NewTextHandler(&log, nil))
			ui.Login = &engineui.KeyLogin{Auth: late{d}, Address: func(*http.Request) string { return "192.0.2.7" }}
		})
		var err error
		if d.keys, err = apikey.NewManager(apikey.Config{Records: d.store.Ports().Records}); err != nil {
			t.Fatal(err)
		}
		hooks, err := d.engine.Endpoints().List(t.Context(), "acme", "")
		if err != nil {
			t.Fatal(err)
		}
		writes, reads, id := d.issue("acme", apikey.ScopeWrite), d.issue("acme", apikey.ScopeRead), hooks[0].ID
		_, c := d.enter(string(writes.Secret))
		_, reader := d.enter(string(reads.Secret))
		by := `client=192\.0\.2\.7 by=acme key_id=` + writes.ID + ` owner=acme page=endpoint `
		for _, row := range []struct {
			do   func() *httptest.ResponseRecorder
			want string // a regular expression; "" for no line
		}{
			{func() *httptest.ResponseRecorder { w, _ := d.enter("sw_live_wrong"); return w }, `msg="console login refused" client=192\.0\.2\.7 reason="wrong key"`},
			{func() *httptest.ResponseRecorder { w, _ := d.enter(string(writes.Secret)); return w }, `msg="console login" client=192\.0\.2\.7 owner=acme key_id=` + writes.ID + `\n`},
			{func() *httptest.ResponseRecorder { return d.with(c, http.MethodGet, "/endpoint?endpoint="+id) }, ""},
			{func() *httptest.ResponseRecorder { return d.change(c, "/endpoint?endpoint="+id, "action=pause") }, `msg="console change" ` + by + "id=" + id + ` action=pause\n`},
			{func() *httptest.ResponseRecorder { return d.change(c, "/endpoint?endpoint=whk_x", "action=pause") }, `msg="console change refused" ` + by + `id=whk_x action=pause error=`},
			{func() *httptest.ResponseRecorder { return d.change(reader, "/endpoint?endpoint="+id, "action=pause") }, `msg="console change refused" .* key_id=` + reads.ID + ` .*error=`},
			{func() *httptest.ResponseRecorder { return d.change(c, "/event?delivery=dlv_x", "action=resend") }, `msg="console change refused" .* page=event id=dlv_x action=resend `},
			{func() *httptest.ResponseRecorder {
				return d.change(c, "/monitors", "action=make&name=n&accounts=acme_news")
			}, `msg="console change" .* page=monitors id=mon_\w+ action=make\n`},
			{func() *httptest.ResponseRecorder { return d.change(c, "/monitors", "action=make&name=&accounts=a") }, `msg="console change refused" .* page=monitors id="" action=make error=`},
			{func() *httptest.ResponseRecorder { return d.change(c, "/logout", "x=y") }, `msg="console logout" client=192\.0\.2\.7 owner=acme key_id=` + writes.ID + `\n`},
		} {
			log.Reset()
			got := row.do()
			if lines := strings.Count(log.String(), "\n"); lines != min(1, len(row.want)) || !regexp.MustCompile(row.want).MatchString(log.String()) {
				t.Errorf("status %d, log %s, want %s", got.Code, &log, row.want)
			}
			if strings.Contains(log.String(), "sw_live") {
				t.Errorf("a key is in the log: %s", &log)
			}
		}
		for range 20 {
			d.enter("sw_live_wrong")
		}
		if !strings.Contains(log.String(), `reason="too many tries"`) {
			t.Errorf("no line about too many tries: %s", &log)
		}
	})
}

func (d *door) change(c *http.Cookie, path, form string) *httptest.ResponseRecorder {
	return ask(d, http.MethodPost, path, form, http.Header{"Cookie": {c.Name + "=" + c.Value}})
}
