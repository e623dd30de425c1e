module github.com/streamwatch/streamwatch/benchmarks

go 1.25.0

require github.com/streamwatch/streamwatch v0.0.0

require golang.org/x/net v0.58.0 // indirect

require (
	github.com/cenkalti/backoff/v4 v4.3.0 // indirect
	github.com/goccy/go-json v0.12.0
)

replace github.com/streamwatch/streamwatch => ../
