module github.com/streamwatch/streamwatch

go 1.25.0

require (
	github.com/cenkalti/backoff/v4 v4.3.0
	go.uber.org/goleak v1.3.0
	golang.org/x/net v0.58.0
	golang.org/x/time v0.14.0
)
