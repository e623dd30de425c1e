package chromium

import (
	"context"
	"errors"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch"
	"github.com/streamwatch/streamwatch/apikey"
	"github.com/streamwatch/streamwatch/billing"
	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/deliver/dispatch"
	"github.com/streamwatch/streamwatch/deliver/webhook"
	"github.com/streamwatch/streamwatch/detect"
	"github.com/streamwatch/streamwatch/enginetest"
	"github.com/streamwatch/streamwatch/engineui"
	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/internal/report"
	"github.com/streamwatch/streamwatch/monitor"
	"github.com/streamwatch/streamwatch/rule"
	"github.com/streamwatch/streamwatch/storage/memory"
)

// demo is an engine with fake platforms, owners with names as long as real ones, and what goes wrong
// in a day; and its console on a socket of this machine.
type demo struct {
	platform *enginetest.Platform
	engine   *streamwatch.Engine
	server   *httptest.Server
	failing  string // id of the endpoint that answers 503
	silent   string // name of an account that posts no more
	rule     string // id of a rule
}

const (
	ministry = "bundesministerium-fuer-digitales-und-staatsmodernisierung.social.bund.example"
	heise    = "heise_online.social.heise.example"
	aozora   = "aozora-news.example.jp"
	quiet    = "stadtverwaltung-neustadt-an-der-weinstrasse.kommunal.social.example"
)

var texts = []string{
	"Kritische Sicherheitslücke in weit verbreiteter Warenwirtschaftssoftware: Administratoren sollten umgehend handeln und die bereitgestellten Aktualisierungen einspielen",
	"【速報】東京都心で今季初の積雪を観測、交通機関に遅れ。気象庁は今後数時間の見通しを発表し、不要不急の外出を控えるよう呼びかけている",
	"Die Auswertung der Ausschreibung ist abgeschlossen. Alle Unterlagen: https://www.bund.example/SharedDocs/Ausschreibungen/2026/11/2026-11-28-auswertung.html",
	"Donaudampfschifffahrtsgesellschaftskapitänspatentverordnung tritt zum Jahresende außer Kraft",
	"We are aware of elevated error rates in eu-central-1 and are investigating.",
}

// expired is a platform that cannot be reached.
type expired struct{}

func (expired) Timeline(context.Context, fetcher.TimelineQuery) (fetcher.Page, error) {
	return fetcher.Page{}, errors.New(`Get "https://mastodon.eu-west.example/api/v1/accounts/lookup?acct=presse": tls: failed to verify certificate: x509: certificate has expired or is not yet valid`)
}

// receivers answers webhooks by their host.
type receivers struct{}

func (receivers) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body != nil {
		r.Body.Close()
	}
	status, body := http.StatusOK, "ok"
	switch {
	case strings.HasPrefix(r.URL.Host, "hooks.newsroom"):
		status, body = http.StatusServiceUnavailable, `{"error":{"code":"backend_unavailable","message":"Der Dienst ist vorübergehend nicht verfügbar. Bitte versuchen Sie es später erneut.","request_id":"8f2b9d4e-51c0-4a77-9c1b-2f6a3e0d7b55"}}`
	case strings.HasPrefix(r.URL.Host, "crm.lumen"):
		return nil, errors.New("tls: certificate is valid for *.lumen.example, not crm.lumen-analytics.example")
	}
	return &http.Response{StatusCode: status, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(body)), Request: r}, nil
}

func newDemo(t *testing.T) *demo {
	ctx := t.Context()
	d := &demo{silent: "mastodon:" + quiet}
	d.platform = enginetest.NewPlatform(enginetest.PlatformConfig{Seed: 1, Accounts: []string{ministry, heise, quiet}})
	bluesky := enginetest.NewPlatform(enginetest.PlatformConfig{Seed: 2, Accounts: []string{aozora, "did:plc:ewvi7nxzyoun6zhxrhs64oiz"}})
	for n := range 40 { // it posted every hour, and no more since 12 h
		d.platform.PostAt(quiet, "Sitzung des Stadtrates", time.Now().Add(-time.Duration(52-n)*time.Hour), time.Now().Add(-time.Duration(52-n)*time.Hour))
	}
	store := memory.New(memory.Options{})
	ports := store.Ports()
	fillHistory(t, store)
	var err error
	d.engine, err = streamwatch.New(streamwatch.Config{Store: store, Webhook: webhook.Config{Transport: receivers{}}, Billing: &billing.MeterConfig{},
		Fleet: &streamwatch.FleetConfig{Name: "node-1", Lease: time.Second}, Sources: []streamwatch.Source{
			{Name: "mastodon", Fetcher: d.platform}, {Name: "bluesky", Fetcher: bluesky, Detect: detect.Config{Cost: detect.Cost{Prices: fetcher.Prices{Post: 0.05}, Limit: 10}}},
			{Name: "mastodon-eu", Fetcher: expired{}}}})
	if err != nil {
		t.Fatal(err)
	}
	keys, err := apikey.NewManager(apikey.Config{Records: ports.Records})
	if err != nil {
		t.Fatal(err)
	}
	if err := d.engine.Start(ctx); err != nil {
		t.Fatal(err)
	}
	console, err := engineui.New(engineui.Config{Engine: d.engine, Ledger: ports.Ledger, Keys: keys, Authorize: engineui.AllowLoopback})
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.Handle("/console/", console)
	d.server = httptest.NewServer(mux)
	t.Cleanup(func() {
		console.Close()
		d.server.CloseClientConnections()
		d.server.Close()
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := errors.Join(d.engine.Shutdown(ctx), store.Close(ctx)); err != nil {
			t.Error(err)
		}
	})
	for _, of := range []struct {
		owner, name, hook string
		accounts          []string
		credits           billing.Credits
	}{
		{"newsroom-redaktion-europa", "Eilmeldungen", "https://hooks.newsroom.example.org/ingest/social/eu-central-1/production/streamwatch-detected-posts", []string{"mastodon:" + heise, "mastodon:" + ministry, "bluesky:" + aozora}, 1e9},
		{"株式会社青空ニュース配信", "青空ニュース 速報", "https://api.aozora-news.example.jp/hooks/x7KqVb2", []string{"bluesky:" + aozora}, 1e9},
		{"spedition-nordsued", "Häfen und Bahn", "https://eingang.spedition-nordsued-logistik.example.de/webhooks/streamwatch/v2/posts", []string{"mastodon:" + ministry, "mastodon:" + quiet}, 1e9},
		{"lumen-analytics-emea-production", "brand mentions, all languages", "https://crm.lumen-analytics.example.com/api/v3/hooks/inbound?key=secret", []string{"bluesky:did:plc:ewvi7nxzyoun6zhxrhs64oiz", "mastodon:" + heise}, 3000e3},
		{"bundesanzeiger-monitoring-gmbh", "Bundestag – alle Fraktionen und Ausschüsse", "", []string{"mastodon-eu:presse.presse.example"}, 1e9},
		{"acme", "space", "https://receiver.acme.example.com/streamwatch", []string{"mastodon:" + heise}, 1e9},
	} {
		if err := ports.Ledger.Append(ctx, billing.Entry{ID: "grant of " + of.owner, Owner: of.owner, Kind: billing.KindTopUp, Amount: of.credits, At: time.Now()}); err != nil {
			t.Fatal(err)
		}
		m, err := d.engine.Monitors().Create(ctx, monitor.CreateRequest{Owner: of.owner, Name: of.name, Usernames: of.accounts, PollInterval: time.Second, WebhookURL: of.hook})
		if err != nil {
			t.Fatal(of.owner, err)
		}
		if _, err := keys.Issue(ctx, apikey.IssueRequest{Owner: of.owner, Name: "Anbindung der " + of.name, Scope: apikey.ScopeWrite}); err != nil {
			t.Fatal(err)
		}
		switch of.owner {
		case "newsroom-redaktion-europa":
			d.failing = m.WebhookID
		case "spedition-nordsued":
			if _, err := d.engine.Endpoints().Disable(ctx, of.owner, m.WebhookID, "20 deliveries in a row have failed over 24 h; the last: 500"); err != nil {
				t.Fatal(err)
			}
		case "bundesanzeiger-monitoring-gmbh":
			twin, err := d.engine.Monitors().Create(ctx, monitor.CreateRequest{Owner: of.owner, Name: "Landtage – alle Fraktionen und Ausschüsse", Usernames: of.accounts})
			if err == nil { // all but a credit are taken back
				err = ports.Ledger.Append(ctx, billing.Entry{ID: "taken back", Owner: of.owner, Kind: billing.KindTopUp, Amount: billing.Credit - of.credits, At: time.Now()})
			}
			if err == nil {
				_, err = d.engine.Monitors().Suspend(ctx, of.owner, twin.ID, monitor.ReasonCredits)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	for tag, query := range map[string]string{"breaking": `lang:de (eilmeldung OR breaking) -is:retweet`, "Sicherheitslücken in Deutschland": `(Sicherheitslücke OR Schwachstelle OR "zero day") from:` + "heise_online"} {
		r, err := d.engine.Rules().Create(ctx, rule.CreateRequest{Owner: "acme", Tag: tag, Query: query, Platform: "mastodon", Interval: time.Minute})
		if err != nil {
			t.Fatal(err)
		}
		d.rule = r.ID
	}
	<-time.After(2 * time.Second) // all are polled once
	for n := range 24 {
		d.platform.Post([]string{heise, ministry}[n%2], texts[n%len(texts)])
		bluesky.Post(aozora, texts[1])
	}
	d.platform.Post(heise, texts[0])
	d.problems(t)
	return d
}

// post publishes a post that several monitors find.
func (d *demo) post(text string) { d.platform.Post(heise, text) }

// problems waits until the engine has found all that is wrong.
func (d *demo) problems(t *testing.T) {
	want := []streamwatch.ProblemKind{streamwatch.SourceDown, streamwatch.EndpointDisabled, streamwatch.EndpointFailing, streamwatch.MonitorPaused}
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	defer cancel()
	for {
		found, err := d.engine.Problems(ctx)
		if err != nil {
			t.Fatal(err)
		}
		missing := map[streamwatch.ProblemKind]bool{}
		for _, kind := range want {
			missing[kind] = true
		}
		for _, p := range found.List {
			delete(missing, p.Kind)
		}
		if len(missing) == 0 {
			return
		}
		select {
		case <-ctx.Done():
			t.Fatalf("not found: %v; found %+v", missing, found.List)
		case <-time.After(time.Second):
		}
	}
}

// fillHistory saves what another node has counted in a day.
func fillHistory(t *testing.T, store *memory.Store) {
	now := time.Now()
	r := report.New(store.Ports().State, "node-2", false, now.Add(-24*time.Hour))
	var c report.Counters
	n := 0
	for at := now.Add(-24 * time.Hour).Truncate(time.Minute); at.Before(now); at = at.Add(time.Minute) {
		busy := 1 + 0.6*math.Sin(float64(at.Unix()%86400)/86400*2*math.Pi)
		for range int(3 * busy) {
			n++
			late := time.Duration(float64(3*time.Second) * busy * (1 + float64(n%20)/4))
			e := deliver.Event{PublishedAt: at, EarliestAt: at.Add(late / 2), RequestedAt: at.Add(late * 6 / 10), FetchedAt: at.Add(late * 8 / 10), DetectedAt: at.Add(late * 8 / 10), CommittedAt: at.Add(late * 9 / 10)}
			a := &deliver.Attempt{N: 1, At: at.Add(late * 9 / 10), Duration: late / 10}
			state := deliver.StateDelivered
			if n%25 == 0 && busy > 1 {
				a.Error, a.StatusCode, state = "status 503", 503, deliver.StateRetrying
			}
			r.Settled(dispatch.Settled{Delivery: &deliver.Delivery{EndpointID: "whk_of_the_past", Event: &e, CreatedAt: at}, Settlement: &deliver.Settlement{State: state, Attempt: a}}, at)
		}
		c.Events += int64(4 * busy)
		c.Calls += int64(45 * busy)
		c.Polls += int64(44 * busy)
		c.Cost += 0.006 * busy
		r.Report(at, func() report.Counters { return c })
	}
	if err := errors.Join(r.Restore(t.Context(), now), r.Save(t.Context(), r.Report(now, func() report.Counters { return c }))); err != nil {
		t.Fatal(err)
	}
}

// shown is a page of the demo.
type shown struct{ name, path string }

// pages are all pages, with what they are about.
func (d *demo) pages(t *testing.T) []shown {
	monitors, err := d.engine.Monitors().Page(t.Context(), monitor.Query{Owner: "newsroom-redaktion-europa"})
	if err != nil {
		t.Fatal(err)
	}
	owner := "owner=" + url.QueryEscape("newsroom-redaktion-europa")
	return []shown{
		{"now", ""}, {"now-hour", "?range=1h"}, {"now-week", "?range=7d"}, {"now-owner", "?" + owner}, {"monitors", "monitors"}, {"monitor", "monitor?monitor=" + monitors.Monitors[0].ID}, {"rules", "rules?query=Sicherheitslücke+-retweet&owner=acme"},
		{"rule", "rule?rule=" + d.rule}, {"accounts", "accounts?by=slow"}, {"account", "account?account=" + url.QueryEscape(d.silent)}, {"account-well", "account?account=" + url.QueryEscape("mastodon:"+heise)},
		{"sources", "sources"}, {"events", "events?" + owner}, {"event", "event?seq=1&" + owner}, {"deliveries", "deliveries?" + owner}, {"choose", "deliveries"}, {"endpoints", "endpoints"},
		{"endpoint", "endpoint?endpoint=" + d.failing}, {"fleet", "fleet"}, {"owners", "owners"}, {"owner", "owner?" + owner}, {"keys", "keys"}, {"credits", "credits?" + owner},
		{"find", "find?find=example"}, {"empty", "monitors?find=hooks.newsrom"}, {"first", "?owner=nobody"},
	}
}
