// Package otelenv sends an engine's traces and metrics to where the standard environment variables say:
// https://opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables/. Unlike the
// standard it sends nothing unless OTEL_EXPORTER_OTLP_ENDPOINT, or OTEL_TRACES_EXPORTER and its like,
// are set.
package otelenv
