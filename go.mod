module github.com/streamwatch/streamwatch

go 1.25.0

require (
	github.com/cenkalti/backoff/v4 v4.3.0 // indirect
	go.uber.org/goleak v1.3.0 // indirect
	golang.org/x/net v0.58.0 // indirect
	golang.org/x/time v0.14.0 // indirect
)
