module github.com/streamwatch/streamwatch

go 1.25.0
