package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"golang.org/x/net/netutil"

	"github.com/streamwatch/streamwatch"
	"github.com/streamwatch/streamwatch/apikey"
	"github.com/streamwatch/streamwatch/billing"
	"github.com/streamwatch/streamwatch/deliver/endpoints"
	"github.com/streamwatch/streamwatch/deliver/webhook"
	"github.com/streamwatch/streamwatch/deliver/wshub"
	"github.com/streamwatch/streamwatch/enginehttp"
	"github.com/streamwatch/streamwatch/engineotel"
	"github.com/streamwatch/streamwatch/engineotel/otelenv"
	"github.com/streamwatch/streamwatch/engineprom"
	"github.com/streamwatch/streamwatch/engineui"
	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/internal/command"
	"github.com/streamwatch/streamwatch/storage"
	"github.com/streamwatch/streamwatch/storage/memory"
)

// maxConnections bounds the connections of all clients, WebSocket included.
const maxConnections = 10_000

// serve runs the service until ctx ends. It then waits for the work under way. After a SIGHUP it calls
// read for the configuration as it is now.
func serve(ctx context.Context, c config, read func() (config, error), out, logs io.Writer) (err error) {
	log := logger(c, logs)
	takeStandardLog(log)
	hangups := make(chan os.Signal, 1)
	signal.Notify(hangups, syscall.SIGHUP)
	defer signal.Stop(hangups)
	listener, err := listen(c, "addr", c.Addr)
	if err != nil {
		return err
	}
	defer listener.Close()       // a second Close is harmless
	var opsListener net.Listener // nil for none
	if c.OpsAddr != "" {
		if opsListener, err = listen(c, "ops-addr", c.OpsAddr); err != nil {
			return err
		}
		defer opsListener.Close()
	}
	base := c.scheme() + "://" + reached(listener.Addr())
	// Check all values before the database is created.
	if err := try(c, base, log); err != nil {
		return err
	}
	metrics := prometheus.NewRegistry()
	sent, err := otelenv.Open(ctx, metrics, log)
	if err != nil {
		return command.Usage(err)
	}
	defer sent.Stop()
	// From here on clients are answered, and told that the service is starting.
	front, back, failed := new(door), new(door), make(chan error, 2)
	server := enginehttp.NewServer(front)
	defer server.Close()
	server.ErrorLog = connectionLog(log)
	re := reloader{config: c, read: read, connections: enginehttp.NewConnections(c.Connections, log), log: log}
	if err := re.certify(c); err != nil {
		return err
	}
	server.ConnState = re.connections.Follow
	if c.TLSCert != "" {
		server.TLSConfig = &tls.Config{GetCertificate: re.certificate}
	}
	go func() { failed <- serveOn(server, netutil.LimitListener(listener, maxConnections)) }()
	opsServer := enginehttp.NewServer(back)
	opsServer.ErrorLog = connectionLog(log)
	defer opsServer.Close()
	if opsListener != nil {
		go func() { failed <- serveOn(opsServer, opsListener) }()
		log.Info("serving operators", "address", "http://"+opsListener.Addr().String())
	}
	c.waits = true
	store, done, err := openStore(ctx, c, log)
	if err != nil && ctx.Err() != nil {
		log.Warn("stopped: the store was never reached", "store", c.storeText())
		return nil
	} else if err != nil {
		return err
	}
	defer done()
	svc, err := newService(c, store, base, sent.Tracer, log)
	if err != nil {
		return err
	}
	engine := svc.engine
	re.engine = engine
	metrics.MustRegister(engineprom.New(engine), collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	if sent.Tracer != nil {
		defer engine.Watch(sent.Tracer.Detected)()
	}
	probes := enginehttp.NewProbes(engine, log)
	mux, ops := muxes(c, svc.api, svc.hooks, probes, promhttp.HandlerFor(metrics, promhttp.HandlerOpts{}))
	console, err := openConsole(c, svc, store.Ports().Ledger, log)
	if err != nil {
		return err
	}
	defer console.Close()
	server.RegisterOnShutdown(console.Close) // Shutdown would wait for its live tails
	mux.Handle("/console/", console)
	defer startFakes(ctx, svc.platforms)()

	// What runs from here on is stopped in reverse order, so probes on ops-addr are answered until the
	// end.
	defer opsServer.Close()
	back.open(ops)
	switch err := engine.Start(ctx); {
	case err != nil && ctx.Err() != nil:
		log.Warn("stopped: the engine was not started", "store", c.storeText(), "error", err)
		return nil
	case err != nil:
		return err
	}
	defer func() { err = errors.Join(err, stop("polls and deliveries", engine.Shutdown, c.StopTime, log)) }()
	keysEnd, endKeys := context.WithCancel(context.Background())
	var keys sync.WaitGroup
	keys.Go(func() { svc.keys.Run(keysEnd) })
	defer keys.Wait()
	defer endKeys()
	front.open(mux)
	if c.Demo {
		if err := startDemo(ctx, mux, store, svc.keys, base, out, log); err != nil {
			return err
		}
	}
	log.Info("serving", "address", c.scheme()+"://"+listener.Addr().String(), "description", base+"/v1/openapi.json", "console", base+"/console/")

	for ctx.Err() == nil {
		select {
		case err := <-failed:
			return errors.Join(err, stop("requests", server.Shutdown, c.StopTime, log), server.Close())
		case <-hangups:
			re.reload()
		case <-ctx.Done():
		}
	}
	log.Info("stopping: a second signal ends it at once")
	probes.Drain()
	select { // wait until load balancers have noticed and send no more clients
	case err = <-failed:
	case <-time.After(c.Drain):
	}
	return errors.Join(err, stop("requests", server.Shutdown, c.StopTime, log), server.Close())
}

// try returns a UsageError if a value is not allowed. It does not open the store or connect to
// anything. It creates the directories for the files of sources.
func try(c config, base string, log *slog.Logger) error {
	if c.TLSCert != "" {
		if _, err := tls.LoadX509KeyPair(c.TLSCert, c.TLSKey); err != nil {
			return command.Usagef("%s and tls-key are not allowed: %w", c.from.called("tls-cert"), err)
		}
	}
	c.DB = "" // the store is in memory
	_, err := newService(c, memory.New(memory.Options{}), base, nil, log)
	if err == nil || errors.As(err, new(*fs.PathError)) { // a directory that cannot be made now
		return err
	}
	err, _ = inWords(err, map[string]string{"Segment": c.from.called("segment"), "CursorKey": c.from.called("cursor-key")})
	return command.Usage(err)
}

// service has the parts of the configured service, on a store. They do not run yet.
type service struct {
	platforms []fetcher.Fetcher // the first is the platform of names without a source
	keys      *apikey.Manager
	engine    *streamwatch.Engine
	api       http.Handler
	hooks     map[string]http.Handler // by path: what WebSub hubs call
}

func newService(c config, store storage.Store, base string, tracer *engineotel.Tracer, log *slog.Logger) (s service, err error) {
	platform, err := openPlatform(c)
	if err != nil {
		return s, err
	}
	if platform.Fetcher != nil {
		s.platforms = append(s.platforms, platform.Fetcher)
	}
	sources, hooks, err := openSources(c, log)
	if err != nil {
		return s, err
	}
	s.hooks = hooks
	for _, src := range sources {
		s.platforms = append(s.platforms, src.Fetcher)
	}
	if s.keys, err = apikey.NewManager(apikey.Config{Records: store.Ports().Records}); err != nil {
		return s, err
	}
	if s.engine, err = newEngine(c, store, platform, sources, s.keys, tracer, log); err != nil {
		return s, err
	}
	providers, err := providersOf(c, s.platforms[0], base)
	if err != nil {
		return s, err
	}
	s.api, err = enginehttp.New(s.engine, enginehttp.Options{
		Auth: s.keys, Keys: s.keys, Ledger: store.Ports().Ledger, Segment: c.Segment, CursorKey: c.CursorKey, Providers: providers, Origins: c.Origins, Address: c.address, Logger: log,
	})
	return s, err
}

func newEngine(c config, store storage.Store, platform streamwatch.Source, sources []streamwatch.Source, keys *apikey.Manager, tracer *engineotel.Tracer, log *slog.Logger) (*streamwatch.Engine, error) {
	cfg := streamwatch.Config{
		Fetcher: platform.Fetcher, CheckAccount: platform.CheckAccount, Sources: sources, Store: store, Logger: log,
		DefaultInterval: c.Interval, MinInterval: c.MinInterval, Rules: streamwatch.RuleConfig{MinInterval: c.MinInterval}, Quotas: c.Limits.quotas(),
		Webhook: webhook.Config{AllowPrivate: c.AllowPrivate},
		WebSocket: &wshub.Options{
			Authenticate: enginehttp.WebSocketAuth(keys), Origins: patterns(c.Origins), MaxKeylessPerAddress: c.Keyless,
		},
		Billing: &billing.MeterConfig{
			Thresholds: []billing.Credits{1000 * billing.Credit},
			OnThreshold: func(t billing.Threshold) {
				log.Warn("credits run low", "owner", t.Owner, "credits", t.Balance/billing.Credit)
			},
		},
	}
	if c.DB.Shared() {
		cfg.Fleet = &streamwatch.FleetConfig{Passive: c.Passive}
	}
	if c.SealKey != "" {
		ring, err := endpoints.NewKeyring(c.SealKey)
		if err != nil {
			return nil, fmt.Errorf("%s %w", c.from.called("seal-key"), err)
		}
		cfg.Sealer = ring
	}
	if tracer != nil {
		cfg = tracer.Instrument(cfg)
	}
	return streamwatch.New(cfg)
}

// patterns returns origins as patterns of package wshub. Only the "[" of an IPv6 address has a special
// meaning in a pattern.
func patterns(origins []string) (out []string) {
	for _, o := range origins {
		out = append(out, strings.ReplaceAll(o, "[", `\[`))
	}
	return out
}

// muxes are what addr and ops-addr serve.
func muxes(c config, api http.Handler, hooks map[string]http.Handler, probes *enginehttp.Probes, metrics http.Handler) (public, ops *http.ServeMux) {
	public, ops = http.NewServeMux(), http.NewServeMux()
	for _, mux := range []*http.ServeMux{public, ops} {
		mux.HandleFunc("GET /livez", probes.Live)
		mux.HandleFunc("GET /readyz", probes.Ready)
		mux.HandleFunc("GET /healthz", probes.Ready) // the same
	}
	public.Handle("/v1/", api)
	public.Handle("GET /{$}", http.RedirectHandler("/console/", http.StatusFound))
	for path, hook := range hooks {
		public.Handle(path, hook)
	}
	ops.Handle("GET /metrics", metrics)
	if c.Demo {
		public.Handle("GET /metrics", metrics)
	}
	return public, ops
}

// door serves a mux when it is open. Until then, for example while another process has the SQLite file,
// it answers that the process is live and not ready, and 503 to all else.
type door struct{ mux atomic.Pointer[http.ServeMux] }

func (d *door) open(mux *http.ServeMux) { d.mux.Store(mux) }

func (d *door) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if mux := d.mux.Load(); mux != nil {
		mux.ServeHTTP(w, r)
		return
	}
	switch r.URL.Path {
	case "/livez":
		io.WriteString(w, "ok\n")
		return
	case "/readyz", "/healthz":
		http.Error(w, "not ready: starting", http.StatusServiceUnavailable)
		return
	}
	w.Header().Set("Retry-After", "1")
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusServiceUnavailable)
	io.WriteString(w, `{"error":"the service is starting: try again","detail":"the service is starting: try again"}`+"\n")
}

// openConsole returns the console at /console/. Users log in with a key.
func openConsole(c config, s service, ledger billing.Ledger, log *slog.Logger) (*engineui.Console, error) {
	operator := func(p apikey.Principal) bool {
		return c.Operator != "" && p.Owner == c.Operator && p.Scope == apikey.ScopeAdmin
	}
	return engineui.New(engineui.Config{
		Engine: s.engine, Login: &engineui.KeyLogin{Auth: s.keys, Operator: operator, Address: c.address}, Ledger: ledger, Keys: s.keys, Logger: log,
	})
}

// address returns the client's address. If client-address names a header, this is the last address in
// it, which the nearest proxy has added; a client may have written the others. Otherwise it is the
// address of the connection.
func (c *config) address(r *http.Request) string {
	if c.ClientAddress != "" {
		if told := r.Header.Values(c.ClientAddress); len(told) > 0 {
			last := told[len(told)-1]
			return strings.TrimSpace(last[strings.LastIndexByte(last, ',')+1:])
		}
	}
	return r.RemoteAddr
}

// listen listens on the address of a key. Its error is not a UsageError: check has accepted the
// address, and a later try may succeed.
func listen(c config, name, addr string) (net.Listener, error) {
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("%s %q: %w", c.from.called(name), addr, err)
	}
	return l, nil
}

// reached returns a host and port with which this machine reaches a listener. It replaces an
// unspecified address, such as 0.0.0.0, which is not valid in a URL.
func reached(a net.Addr) string {
	if tcp, ok := a.(*net.TCPAddr); ok && tcp.IP.IsUnspecified() {
		return net.JoinHostPort("127.0.0.1", strconv.Itoa(tcp.Port))
	}
	return a.String()
}

// serveOn serves HTTP, or HTTPS if there is a TLSConfig. It returns nil after the server was shut
// down.
func serveOn(s *http.Server, l net.Listener) (err error) {
	if s.TLSConfig != nil {
		err = s.ServeTLS(l, "", "")
	} else {
		err = s.Serve(l)
	}
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

// stop ends something and waits for what is under way. It cuts what takes too long; this is no failure
// of the program, and the next process polls and delivers again.
func stop(what string, shutdown func(context.Context) error, within time.Duration, log *slog.Logger) error {
	ctx, cancel := context.WithTimeout(context.Background(), within)
	defer cancel()
	err := shutdown(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		log.Warn(what+" cut short", "after", within, "error", err)
		return nil
	}
	return err
}
