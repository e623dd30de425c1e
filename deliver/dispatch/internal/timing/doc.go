// Package timing measures deliveries: the histograms of dispatch.Stats.
package timing
