package engineui_test

import (
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch"
	"github.com/streamwatch/streamwatch/apikey"
	"github.com/streamwatch/streamwatch/billing"
	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/engineui"
	"github.com/streamwatch/streamwatch/monitor"
	"github.com/streamwatch/streamwatch/rule"
)

// withKeys gives the console the keys of its store.
func withKeys(t *testing.T) func(*streamwatch.Config, *engineui.Config) {
	return func(cfg *streamwatch.Config, ui *engineui.Config) {
		keys, err := apikey.NewManager(apikey.Config{Records: cfg.Store.Ports().Records})
		if err != nil {
			t.Fatal(err)
		}
		ui.Keys = keys
	}
}

// thing makes a record of acme's for a row of a table, and returns the path of its page.
type thing func(t *testing.T, w *world) string

func aMonitor(t *testing.T, w *world) string {
	m, err := w.engine.Monitors().Create(t.Context(), monitor.CreateRequest{Owner: "acme", Name: fmt.Sprint("made at ", time.Now().UnixNano()), Usernames: []string{"acme_news"}})
	if err != nil {
		t.Fatal(err)
	}
	return "/monitor?monitor=" + m.ID
}

func aRule(t *testing.T, w *world) string {
	r, err := w.engine.Rules().Create(t.Context(), rule.CreateRequest{Owner: "acme", Tag: fmt.Sprint("made at ", time.Now().UnixNano()), Query: "lift", Interval: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	return "/rule?rule=" + r.ID
}

func anEndpoint(t *testing.T, w *world) string {
	list, err := w.engine.Endpoints().List(t.Context(), "acme", "")
	if err != nil {
		t.Fatal(err)
	}
	return "/endpoint?endpoint=" + list[0].ID
}

func aDelivery(t *testing.T, w *world) string {
	page, err := w.engine.Log().Deliveries(t.Context(), deliver.LogQuery{Owner: "acme"})
	if err != nil {
		t.Fatal(err)
	}
	return "/event?delivery=" + page.Entries[0].ID
}

func aKey(t *testing.T, w *world) string {
	k, err := w.keys.Issue(t.Context(), apikey.IssueRequest{Owner: "acme", Name: "to revoke"})
	if err != nil {
		t.Fatal(err)
	}
	return "/keys?keys=" + k.ID
}

func page(path string) thing { return func(*testing.T, *world) string { return path } }

// Every form does what it says for those who may, and nothing for all others: the owner's key that
// may only read, that may not manage keys, a key of another owner, an operator's that may only read.
func TestWhoMayChange(t *testing.T) {
	const shown, refused, forbidden, missing = http.StatusOK, http.StatusConflict, http.StatusForbidden, http.StatusNotFound
	for _, row := range []struct {
		name string
		of   thing
		form string
		want string // on the page that follows, for those who may
		// The statuses for other viewers: another owner, who gets the page or what they make themselves,
		// and the owner without the right to manage keys.
		other, writer int
	}{
		{"make a monitor", page("/monitors"), "action=make&name=new+one&accounts=acme_news&every=2.5", "every 2.5 s", shown, shown},
		{"make a monitor with a webhook", page("/monitors"), "action=make&name=with+hook&accounts=acme_news&url=https://hooks.acme.example.com/2", "Nothing shows it again", shown, shown},
		{"make a monitor without accounts", page("/monitors"), "action=make&name=kept&accounts=", `value="kept"`, refused, refused},
		{"make a monitor with a private webhook", page("/monitors"), "action=make&name=private&accounts=acme_news&url=http://10.0.0.7/hook", "is not allowed", refused, refused},
		{"make a monitor every now and then", page("/monitors"), "action=make&name=n&accounts=acme_news&every=NaN", "every is not allowed", refused, refused},
		{"pause a monitor", aMonitor, "action=pause", "The monitor is paused", missing, shown},
		{"resume a monitor", aMonitor, "action=resume", "The monitor is active", missing, shown},
		{"delete a monitor", aMonitor, "action=delete", "The monitor is deleted", missing, shown},
		{"make an endpoint", aMonitor, "action=endpoint&url=https://hooks.acme.example.com/3", "Nothing shows it again", missing, shown},
		{"make a rule", page("/rules"), "action=make&name=new&query=lift&every=60", "Tried on the owner", shown, shown},
		{"make a rule of no query", page("/rules"), "action=make&name=new&query=(lift&every=60", "query is not allowed", refused, refused},
		{"pause a rule", aRule, "action=pause", "The rule is paused", missing, shown},
		{"resume a rule", aRule, "action=resume", "The rule is active", missing, shown},
		{"delete a rule", aRule, "action=delete", "The rule is deleted", missing, shown},
		{"make an endpoint of a rule", aRule, "action=endpoint&url=https://hooks.acme.example.com/4", "Nothing shows it again", missing, shown},
		{"test", anEndpoint, "action=test", "accepted: 200", missing, shown},
		{"pause", anEndpoint, "action=pause", "The endpoint is paused", missing, shown},
		{"resume", anEndpoint, "action=resume", "The pause has ended", missing, shown},
		{"resend failed", anEndpoint, "action=recover&hours=2", "0 failed deliveries", missing, shown},
		{"resend nothing", anEndpoint, "action=resend", "Choose 1 to 50", refused, refused},
		{"replay", anEndpoint, "action=replay&hours=168", "A replay has begun", missing, shown},
		{"rotate", anEndpoint, "action=rotate", "Nothing shows it again", missing, shown},
		{"disable", anEndpoint, "action=disable", "The endpoint is disabled", missing, shown},
		{"pause a disabled one", func(t *testing.T, w *world) string {
			if _, err := w.engine.Endpoints().Disable(t.Context(), "acme", strings.TrimPrefix(anEndpoint(t, w), "/endpoint?endpoint="), "for a test"); err != nil {
				t.Fatal(err)
			}
			return anEndpoint(t, w)
		}, "action=pause", "not allowed", missing, refused},
		{"enable", anEndpoint, "action=enable", "The endpoint is enabled", missing, shown},
		{"delete", anEndpoint, "action=delete", "The endpoint is deleted", missing, shown},
		{"send again", aDelivery, "action=resend", "It is sent again", missing, shown},
		{"issue a key", page("/keys"), "action=issue&name=new&scope=read&days=30", "sw_live_", forbidden, forbidden},
		{"issue a key for ever", page("/keys"), "action=issue&name=new&scope=read", "sw_live_", forbidden, forbidden},
		{"issue a key of no scope", page("/keys"), "action=issue&name=new&scope=all", "scope is not allowed", forbidden, forbidden},
		{"revoke a key", aKey, "action=revoke", "is revoked", forbidden, forbidden},
	} {
		t.Run(row.name, func(t *testing.T) {
			for _, viewer := range []struct {
				name   string
				status int
			}{{"acme-reader", forbidden}, {"operator-reader", forbidden}, {"globex", row.other}, {"acme", row.writer}, {"acme-admin", shown}, {"operator", shown}} {
				synctest.Test(t, func(t *testing.T) {
					w := newWorld(t, withKeys(t))
					w.post("acme_news", "Lift-off")
					path := row.of(t, w)
					if strings.HasPrefix(viewer.name, "operator") { // other pages know the owner of what they show
						path = strings.Replace(path, "/event?", "/event?owner=acme&", 1)
						if !strings.Contains(path, "?") {
							path += "?owner=acme"
						}
					}
					before := w.records("acme")
					status, body := submit(t, w, viewer.name, path, row.form)
					if row.other == refused && row.writer == refused && (viewer.name == "acme-admin" || viewer.name == "operator") || row.writer == refused && viewer.name != "globex" && viewer.status == shown ||
						strings.Contains(row.form, "scope=all") && viewer.status == shown {
						viewer.status = refused
					}
					if status != viewer.status {
						t.Errorf("%s: status %d, want %d: %s", viewer.name, status, viewer.status, plain(body))
					}
					if may := viewer.name != "globex" && viewer.status != forbidden; may && !holds(body, row.want) {
						t.Errorf("%s: the page lacks %q: %s", viewer.name, row.want, plain(body))
					}
					if after := w.records("acme"); (viewer.status != shown || viewer.name == "globex") && after != before {
						t.Errorf("%s has changed acme's records:\n%s\n%s", viewer.name, before, after)
					}
					sound(t, body)
				})
			}
		})
	}
}

// An operator gives credits once for each form; an owner gives themselves none.
func TestTopUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		id := regexp.MustCompile(`name="id" value="([^"]+)"`).FindStringSubmatch(shows(t, w, "operator", "/owner?owner=acme", "Give credits"))
		if id == nil {
			t.Fatal("the form has no id")
		}
		for _, row := range []struct {
			viewer, path, form string
			status             int
			want               billing.Credits
		}{
			{"acme", "/owner", "action=topup&amount=5&id=" + id[1], http.StatusNotFound, 5000},
			{"acme-admin", "/owner?owner=acme", "action=topup&amount=5&id=" + id[1], http.StatusNotFound, 5000},
			{"operator-reader", "/owner?owner=acme", "action=topup&amount=5&id=" + id[1], http.StatusForbidden, 5000},
			{"operator", "/owner?owner=acme", "action=topup&amount=-5&id=" + id[1], http.StatusConflict, 5000},
			{"operator", "/owner?owner=acme", "action=topup&amount=NaN&id=" + id[1], http.StatusConflict, 5000},
			{"operator", "/owner?owner=acme", "action=topup&amount=5&id=mine", http.StatusConflict, 5000},
			{"operator", "/owner?owner=acme", "action=topup&amount=2.255&id=" + id[1], http.StatusOK, 7255},
			{"operator", "/owner?owner=acme", "action=topup&amount=2.255&id=" + id[1], http.StatusOK, 7255},
		} {
			status, body := submit(t, w, row.viewer, row.path, row.form)
			if status != row.status {
				t.Errorf("%s, %s: status %d, want %d: %s", row.viewer, row.form, status, row.status, plain(body))
			}
			if got, err := w.store.Ports().Ledger.Balance(t.Context(), "acme"); err != nil || got.Available != row.want {
				t.Errorf("%s, %s: acme has %d, want %d: %v", row.viewer, row.form, got.Available, row.want, err)
			}
		}
		if body := shows(t, w, "acme", "/owner"); strings.Contains(body, "Give credits") {
			t.Error("an owner sees the form")
		}
	})
}

// Whose records a form makes is the operator's to say; an owner's own word changes nothing.
func TestOwnerOfWhatIsMade(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, withKeys(t))
		for viewer, want := range map[string]string{"acme-admin": "acme", "operator": "globex"} {
			for _, form := range []struct{ path, fields string }{
				{"/monitors", "action=make&accounts=acme_news"}, {"/rules", "action=make&query=lift&every=60"}, {"/keys", "action=issue&scope=write"},
			} {
				name := "by " + viewer
				if status, body := submit(t, w, viewer, form.path+"?owner=globex", form.fields+"&owner=globex&name="+url.QueryEscape(name)); status != http.StatusOK {
					t.Errorf("%s, %s: status %d: %s", viewer, form.path, status, plain(body))
				}
				for _, owner := range []string{"acme", "globex"} {
					if has := strings.Contains(w.records(owner), name); has != (owner == want) && form.path != "/rules" {
						t.Errorf("%s makes a record of %s: %t", viewer, owner, has)
					}
				}
			}
		}
	})
}

// A key that an owner issues has the rate and the tier of the key in use.
func TestIssuedKeysAreNoFaster(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, withKeys(t), func(_ *streamwatch.Config, ui *engineui.Config) {
			ui.Authorize = func(*http.Request) (engineui.Viewer, error) {
				return engineui.Viewer{Owner: "acme", Write: true, Admin: true, RatePerMinute: 7, Tier: "small"}, nil
			}
		})
		if status, body := submit(t, w, "", "/keys", "action=issue&name=new&scope=admin&rate=1000"); status != http.StatusOK {
			t.Fatal(status, body)
		}
		list, err := w.keys.List(t.Context(), "acme")
		if err != nil || len(list) != 1 || list[0].RatePerMinute != 7 || list[0].Tier != "small" {
			t.Errorf("issued %+v, %v", list, err)
		}
	})
}

// What came of a form is in no address: a link cannot say it.
func TestSaidOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		path := anEndpoint(t, w)
		if status, body := submit(t, w, "acme", path, "action=pause"); status != http.StatusOK || !strings.Contains(body, "The endpoint is paused") {
			t.Fatalf("status %d: %s", status, body)
		}
		if body := shows(t, w, "acme", path+"&done=pause&said=The+endpoint+is+paused"); strings.Contains(body, "The endpoint is paused") {
			t.Error("it is said again, or a link says it")
		}
		evil := ask(w, http.MethodGet, path, "", http.Header{"Viewer": {"acme"}, "Cookie": {"streamwatch_said=KzxzY3JpcHQ-YWxlcnQoMSk8L3NjcmlwdD4"}}) // +<script>alert(1)</script>
		if body := evil.Body.String(); !strings.Contains(body, "&lt;script&gt;") || strings.Contains(body, "<script>a") {
			t.Errorf("a cookie is not escaped: %s", body)
		}
	})
}
