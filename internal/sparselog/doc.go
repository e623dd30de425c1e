// Package sparselog has a slog.Handler that logs warnings with an "error", such as that commits fail, at
// most once a minute for each message. It counts the others: a minute later the last one is logged
// with their number as "repeated". Lines with a "request_id" are all logged.
package sparselog
