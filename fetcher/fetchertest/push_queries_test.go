package fetchertest

import (
	"slices"
	"testing"

	"github.com/streamwatch/streamwatch/enginetest"
	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/internal/planted"
)

// queryKit is of the fake platform's stream of queries.
func queryKit(cfg enginetest.StreamConfig, wrap func(fetcher.Streamer) fetcher.Streamer) StreamKit {
	kit := streamKit(cfg, wrap)
	open := kit.Open
	kit.Open = func(t testing.TB) StreamUpstream {
		u := open(t)
		u.Query = func(a fetcher.Account) string { return "from:" + a.Username }
		return u
	}
	return kit
}

func TestStreamSuiteOfQueries(t *testing.T) {
	TestStreamer(t, queryKit(enginetest.StreamConfig{}, nil))
	t.Run("opened again for other queries", func(t *testing.T) {
		TestStreamer(t, queryKit(enginetest.StreamConfig{Resubscribe: true}, nil))
	})
}

// Each planted fault of a stream of queries is found by its case, which finds nothing
// without.
func TestPlantedStreamsOfQueries(t *testing.T) {
	for _, row := range []struct {
		name  string
		plant func(fetcher.Streamer) fetcher.Streamer
		find  string
		says  string
	}{
		{"does not tell its queries", signals(func(g *fetcher.Signal) {
			if g.Kind == fetcher.SignalUp {
				g.Queries = nil
			}
		}), "SignalUp is the first, with the accounts", "as the query named them"},
		{"does not say which queries a post matches", signals(func(g *fetcher.Signal) {
			if g.Kind == fetcher.SignalPost {
				g.Queries = nil
			}
		}), "posts come in order, with whose they are", "want of"},
		{"says that a post matches all", signals(func(g *fetcher.Signal) {
			if g.Kind == fetcher.SignalPost {
				g.Queries = []string{"from:ann", "from:bob"}
			}
		}), "posts come in order, with whose they are", "want of"},
		{"words queries in its own way", signals(func(g *fetcher.Signal) {
			g.Queries = slices.Clone(g.Queries)
			for i := range g.Queries {
				g.Queries[i] = "(" + g.Queries[i] + ")"
			}
		}), "SignalUp is the first, with the accounts", "as the query named them"},
		{"brings what nobody asked for", queries(func(q *fetcher.StreamQuery) {
			q.Queries = append(slices.Clone(q.Queries), fetcher.SearchQuery{Query: "from:bob"})
		}), "posts of other accounts do not come", "as the query named them"},
		{"does not take changes", queries(func(q *fetcher.StreamQuery) { q.QueryChanges = nil }), "an account is added by Changes", "in vain"},
		{"forgets its position", queries(func(q *fetcher.StreamQuery) { q.Position = "" }), "a position resumes with nothing lost", "want two, three, four"},
	} {
		t.Run(row.name, func(t *testing.T) {
			record := func(kit StreamKit) []string {
				i := slices.IndexFunc(streamCases(), func(c streamCase) bool { return c.name == row.find })
				return planted.ReportsInBubble(t, func(tb testing.TB) { runStream(tb, kit, streamCases()[i]) })
			}
			planted.Find(t, row.find, row.says, record(queryKit(enginetest.StreamConfig{}, nil)), record(queryKit(enginetest.StreamConfig{}, row.plant)))
		})
	}
}
