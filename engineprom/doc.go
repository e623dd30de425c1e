// Package engineprom exports an engine's statistics to Prometheus.
//
//	reg := prometheus.NewRegistry()
//	reg.MustRegister(engineprom.New(engine))
//	mux.Handle("GET /metrics", promhttp.HandlerFor(reg, promhttp.HandlerOpts{}))
//
// Every scrape reads the engine's statistics once; nothing runs between scrapes.
// Durations are in seconds. The names begin with "streamwatch_"; the help texts say
// what the metrics count.
//
// To keep the number of series small, no label has a value for each account, monitor, endpoint or
// owner. For figures of a single one see Engine.Account, the delivery log and the hooks of
// streamwatch.Config.
//
// The directory also has dashboard.json, a Grafana dashboard of the metrics, and alerts.yaml,
// alerting rules for Prometheus that say what to do. Watch these metrics:
//
//	streamwatch_latency_seconds{stage}       where the time from publication to acknowledgement goes
//	streamwatch_poll_lag_seconds             how late polls begin: too few slots, CPU or budget
//	streamwatch_poll_errors_total            the platform, or our access to it, fails
//	streamwatch_gaps_total                   pages could not be read up to the overlap
//	streamwatch_gaps_open                    gaps not read yet, including those of earlier processes
//	streamwatch_commit_errors_total          the store fails: nothing is lost, but everything waits
//	streamwatch_deliveries_total{outcome}    deliveries that receivers accepted, and those that failed
//	streamwatch_breakers_opened_total        receivers that are down
package engineprom
