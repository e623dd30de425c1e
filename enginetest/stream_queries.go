package enginetest

import (
	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/rule/query"
)

// queried maps the text of each query of a connection to its program. It is nil for a connection of
// accounts.
type queried map[string]*query.Program

// ask replaces the subscribed queries, and returns the texts of those that can be parsed.
func (c *streamConnection) ask(queries []fetcher.SearchQuery) (told []string) {
	c.queries = make(queried, len(queries))
	for _, q := range queries {
		if s := c.streamer.platform.search(q.Query); s.program != nil {
			c.queries[q.Query] = s.program
			told = append(told, q.Query)
		}
	}
	return told
}

// matched are the texts of the queries that a post matches.
func (q queried) matched(t *fetcher.Tweet) (texts []string) {
	for text, program := range q {
		if program.Match(t) {
			texts = append(texts, text)
		}
	}
	return texts
}
