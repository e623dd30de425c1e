package fetchertest

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch/enginetest"
	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/internal/planted"
)

var platformAccounts = []fetcher.Account{{Username: "ann", UserID: "100001"}, {Username: "bob", UserID: "100002"}, {Username: "cyd", UserID: "100003"}}

func newFake() *enginetest.Platform {
	return enginetest.NewPlatform(enginetest.PlatformConfig{Accounts: []string{"ann", "bob", "cyd"}})
}

// probeKit is of the fake platform; wrap may make its Prober a wrong one.
func probeKit(wrap func(fetcher.Prober) fetcher.Prober) ProbeKit {
	return ProbeKit{Open: func(testing.TB) ProbeUpstream {
		p := newFake()
		u := ProbeUpstream{
			Prober: p.Prober(enginetest.ProbeConfig{Limit: 7}), Accounts: platformAccounts, Missing: fetcher.Account{Username: "nobody"},
			Post: func(a fetcher.Account) { p.Post(a.Username, "x") },
		}
		if wrap != nil {
			u.Prober = wrap(u.Prober)
		}
		return u
	}}
}

// streamKit is of the fake platform; wrap may make its Streamer a wrong one.
func streamKit(cfg enginetest.StreamConfig, wrap func(fetcher.Streamer) fetcher.Streamer) StreamKit {
	return StreamKit{Bubble: true, Open: func(testing.TB) StreamUpstream {
		p := newFake()
		s := p.Streamer(cfg)
		newest := map[string]string{}
		return StreamUpstream{
			New: func(testing.TB) fetcher.Streamer {
				if wrap != nil {
					return wrap(s)
				}
				return s
			},
			Accounts: platformAccounts,
			Post: func(a fetcher.Account, text string) {
				newest[a.Username] = p.Post(a.Username, text).ID
				synctest.Wait()
			},
			Edit: func(a fetcher.Account, text string) { p.Edit(a.Username, newest[a.Username], text) },
			Delete: func(a fetcher.Account) {
				<-time.After(time.Millisecond) // once it was seen
				p.Delete(a.Username, newest[a.Username])
			},
			Break: s.Disconnect, Resumes: true, Clamp: s.Forget,
		}
	}}
}

func TestProbeSuite(t *testing.T) { TestProber(t, probeKit(nil)) }

func TestStreamSuite(t *testing.T) {
	TestStreamer(t, streamKit(enginetest.StreamConfig{}, nil))
	t.Run("opened again for other accounts", func(t *testing.T) {
		TestStreamer(t, streamKit(enginetest.StreamConfig{Resubscribe: true}, nil))
	})
}

type wrongProbe struct {
	fetcher.Prober
	probe func(context.Context, []fetcher.Account) (fetcher.Probe, error)
}

func (w wrongProbe) Probe(ctx context.Context, accounts []fetcher.Account) (fetcher.Probe, error) {
	return w.probe(ctx, accounts)
}

// marksOf is a Prober whose marks are changed on their way out.
func marksOf(change func(accounts []fetcher.Account, marks []fetcher.Mark) []fetcher.Mark) func(fetcher.Prober) fetcher.Prober {
	return func(p fetcher.Prober) fetcher.Prober {
		return wrongProbe{p, func(ctx context.Context, accounts []fetcher.Account) (fetcher.Probe, error) {
			answer, err := p.Probe(ctx, accounts)
			answer.Marks = change(accounts, answer.Marks)
			return answer, err
		}}
	}
}

type noLimit struct{ fetcher.Prober }

func (noLimit) ProbeLimit() int { return 0 }

type bigLimit struct{ fetcher.Prober }

func (bigLimit) ProbeLimit() int { return 8 }

// Each planted fault of a Prober is found by its case, which finds nothing without.
func TestPlantedProbes(t *testing.T) {
	var shared fetcher.Mark
	for _, row := range []struct {
		name  string
		plant func(fetcher.Prober) fetcher.Prober
		find  string
		says  string
	}{
		{"leaves out who is there", marksOf(func(_ []fetcher.Account, m []fetcher.Mark) []fetcher.Mark { return make([]fetcher.Mark, len(m)) }),
			"there is a mark for each account", "has no mark"},
		{"gives a mark less", marksOf(func(_ []fetcher.Account, m []fetcher.Mark) []fetcher.Mark { return m[:max(0, len(m)-1)] }),
			"there is a mark for each account", "want one for each"},
		{"gives a mark too many", marksOf(func(_ []fetcher.Account, m []fetcher.Mark) []fetcher.Mark { return append(m, 1) }),
			"there is a mark for each account", "want one for each"},
		{"has a zero for nobody", marksOf(func(_ []fetcher.Account, m []fetcher.Mark) []fetcher.Mark {
			for i := range m {
				m[i]++
			}
			return m
		}), "an account that does not exist has no mark", "nobody has it"},
		{"never changes", marksOf(func(_ []fetcher.Account, m []fetcher.Mark) []fetcher.Mark {
			for i := range m {
				m[i] = 1
			}
			return m
		}), "a new post changes the account's mark alone", "want the first one's changed alone"},
		{"always changes", marksOf(func(_ []fetcher.Account, m []fetcher.Mark) []fetcher.Mark {
			for i := range m {
				shared++
				m[i] = shared
			}
			return m
		}), "marks stay while nothing happens", "while nothing happened"},
		{"sorts by mark", marksOf(func(_ []fetcher.Account, m []fetcher.Mark) []fetcher.Mark { slices.Sort(m); return m }),
			"marks come in the order of the accounts", "want each account's own"},
		{"answers one account once", marksOf(func(a []fetcher.Account, m []fetcher.Mark) []fetcher.Mark {
			for i := range m {
				if slices.Index(a, a[i]) < i {
					m[i] = fetcher.NoMark
				}
			}
			return m
		}), "marks come in the order of the accounts", "want the first and last equal"},
		{"has no limit", func(p fetcher.Prober) fetcher.Prober { return noLimit{p} }, "a call takes ProbeLimit accounts", "want 1 or more"},
		{"takes less than its limit", func(p fetcher.Prober) fetcher.Prober { return bigLimit{p} }, "a call takes ProbeLimit accounts", "failed"},
		{"cuts what is too much", func(p fetcher.Prober) fetcher.Prober {
			return wrongProbe{p, func(ctx context.Context, a []fetcher.Account) (fetcher.Probe, error) {
				return p.Probe(ctx, a[:min(len(a), p.ProbeLimit())])
			}}
		}, "more than ProbeLimit accounts are not left out silently", "only some have marks"},
		{"does not look at the context", func(p fetcher.Prober) fetcher.Prober {
			return wrongProbe{p, func(ctx context.Context, a []fetcher.Account) (fetcher.Probe, error) {
				return p.Probe(context.WithoutCancel(ctx), a)
			}}
		}, "a context that has ended is an error", "want context canceled"},
		{"answers with another call's marks", marksOf(func(a []fetcher.Account, m []fetcher.Mark) []fetcher.Mark {
			if len(a) == 1 {
				m[0] = 7
			}
			return m
		}), "calls from several goroutines have their own marks", "one of several calls at once"},
	} {
		t.Run(row.name, func(t *testing.T) {
			record := func(kit ProbeKit) []string {
				i := slices.IndexFunc(probeCases(), func(c probeCase) bool { return c.name == row.find })
				return planted.Reports(t, func(tb testing.TB) { runProbe(tb, kit, probeCases()[i]) })
			}
			planted.Find(t, row.find, row.says, record(probeKit(nil)), record(probeKit(row.plant)))
		})
	}
}

type wrongStream struct {
	fetcher.Streamer
	stream func(context.Context, fetcher.StreamQuery, func(fetcher.Signal) error) error
}

func (w wrongStream) Stream(ctx context.Context, q fetcher.StreamQuery, emit func(fetcher.Signal) error) error {
	return w.stream(ctx, q, emit)
}

// signals is a Streamer whose signals are changed on their way out; one of Kind 0 is
// left out.
func signals(change func(*fetcher.Signal)) func(fetcher.Streamer) fetcher.Streamer {
	return func(s fetcher.Streamer) fetcher.Streamer {
		return wrongStream{s, func(ctx context.Context, q fetcher.StreamQuery, emit func(fetcher.Signal) error) error {
			return s.Stream(ctx, q, func(g fetcher.Signal) error {
				if change(&g); g.Kind == 0 {
					return nil
				}
				return emit(g)
			})
		}}
	}
}

// queries is a Streamer that asks for something else.
func queries(change func(*fetcher.StreamQuery)) func(fetcher.Streamer) fetcher.Streamer {
	return func(s fetcher.Streamer) fetcher.Streamer {
		return wrongStream{s, func(ctx context.Context, q fetcher.StreamQuery, emit func(fetcher.Signal) error) error {
			change(&q)
			return s.Stream(ctx, q, emit)
		}}
	}
}

// kindless changes the kind of some signals.
func kindless(from, to fetcher.SignalKind) func(fetcher.Streamer) fetcher.Streamer {
	return signals(func(g *fetcher.Signal) {
		if g.Kind == from {
			g.Kind = to
		}
	})
}

// Each planted fault of a Streamer is found by its case, which finds nothing
// without.
func TestPlantedStreams(t *testing.T) {
	for _, row := range []struct {
		name  string
		plant func(fetcher.Streamer) fetcher.Streamer
		find  string
		says  string
	}{
		{"does not say that it is up", kindless(fetcher.SignalUp, fetcher.SignalHeartbeat), "SignalUp is the first, with the accounts", "want SignalUp"},
		{"does not tell its accounts", signals(func(g *fetcher.Signal) { g.Accounts = nil }), "SignalUp is the first, with the accounts", "as the query named them"},
		{"tells others", signals(func(g *fetcher.Signal) { g.Accounts = platformAccounts }), "SignalUp is the first, with the accounts", "as the query named them"},
		{"always says that it resumed", signals(func(g *fetcher.Signal) { g.Resumed = true }), "SignalUp is the first, with the accounts", "has no Position"},
		{"hides a clamped position", signals(func(g *fetcher.Signal) { g.Resumed = true }), "SignalUp does not say Resumed when something is lost", "too old"},
		{"does not say whose posts are", signals(func(g *fetcher.Signal) {
			if g.Post != nil {
				g.Post.UserID, g.Post.Username = "", ""
			}
		}), "posts come in order, with whose they are", "want of"},
		{"has no ids", signals(func(g *fetcher.Signal) {
			if g.Post != nil {
				g.Post.ID = ""
			}
		}), "posts come in order, with whose they are", "it is dropped"},
		{"gives all posts one id", signals(func(g *fetcher.Signal) {
			if g.Post != nil {
				g.Post.ID = "1"
			}
		}), "posts come in order, with whose they are", "want one for each"},
		{"leaves out a post", signals(func(g *fetcher.Signal) {
			if g.Post != nil && shows(g.Post, "number 3") {
				g.Kind = 0
			}
		}), "posts come in order, with whose they are", "as the platform sent it next"},
		{"brings everybody's posts", queries(func(q *fetcher.StreamQuery) { q.Accounts = platformAccounts }), "posts of other accounts do not come", "as the platform sent it next"},
		{"takes edits for posts", kindless(fetcher.SignalEdit, fetcher.SignalPost), "an edit is no post", "want SignalEdit"},
		{"takes deletions for posts", kindless(fetcher.SignalDelete, fetcher.SignalPost), "a deletion is no post", "want SignalDelete"},
		{"has no heartbeats", kindless(fetcher.SignalHeartbeat, 0), "a heartbeat shows that the stream is alive", "in vain"},
		{"has no positions", signals(func(g *fetcher.Signal) { g.Position = "" }), "a position resumes with nothing lost", "no Position"},
		{"forgets its position", queries(func(q *fetcher.StreamQuery) { q.Position = "" }), "a position resumes with nothing lost", "want two, three, four"},
		{"does not take changes", queries(func(q *fetcher.StreamQuery) { q.Changes = nil }), "an account is added by Changes", "in vain"},
		{"takes changes for nothing", queries(func(q *fetcher.StreamQuery) { q.Changes = nil }), "an account is removed by Changes", "in vain"},
		{"ends with Changes", func(s fetcher.Streamer) fetcher.Streamer {
			return wrongStream{s, func(ctx context.Context, q fetcher.StreamQuery, emit func(fetcher.Signal) error) error {
				ctx, cancel := context.WithCancel(ctx)
				defer cancel()
				changes := q.Changes
				go func() {
					select {
					case <-changes:
						cancel()
					case <-ctx.Done():
					}
				}()
				q.Changes = nil
				return s.Stream(ctx, q, emit)
			}}
		}, "Changes that are closed do not end the stream", "the stream ended"},
		{"ends without an error", func(s fetcher.Streamer) fetcher.Streamer {
			return wrongStream{s, func(ctx context.Context, q fetcher.StreamQuery, emit func(fetcher.Signal) error) error {
				_ = s.Stream(ctx, q, emit)
				return nil
			}}
		}, "a connection that breaks is an error", "want an error that says so"},
		{"says nothing of its context", func(s fetcher.Streamer) fetcher.Streamer {
			return wrongStream{s, func(ctx context.Context, q fetcher.StreamQuery, emit func(fetcher.Signal) error) error {
				_ = s.Stream(ctx, q, emit)
				return nil
			}}
		}, "Stream returns when its context ends", "want context canceled"},
		{"has errors of its own", func(s fetcher.Streamer) fetcher.Streamer {
			return wrongStream{s, func(ctx context.Context, q fetcher.StreamQuery, emit func(fetcher.Signal) error) error {
				if s.Stream(ctx, q, emit) != nil && ctx.Err() == nil {
					return errors.New("broken")
				}
				return ctx.Err()
			}}
		}, "Stream returns the error of emit", "want that error"},
	} {
		t.Run(row.name, func(t *testing.T) {
			record := func(kit StreamKit) []string {
				i := slices.IndexFunc(streamCases(), func(c streamCase) bool { return c.name == row.find })
				return planted.ReportsInBubble(t, func(tb testing.TB) { runStream(tb, kit, streamCases()[i]) })
			}
			planted.Find(t, row.find, row.says, record(streamKit(enginetest.StreamConfig{}, nil)), record(streamKit(enginetest.StreamConfig{}, row.plant)))
		})
	}
}

// A stream that never does what a case waits for fails it, also where time passes.
func TestStreamCasesEnd(t *testing.T) {
	for _, row := range []struct {
		name string
		say  *fetcher.Signal // again and again; nil for nothing
	}{
		{"says nothing", nil},
		{"says that it is alive", &fetcher.Signal{Kind: fetcher.SignalHeartbeat}},
		{"is up for nobody", &fetcher.Signal{Kind: fetcher.SignalUp}},
		{"pushes one post for ever", &fetcher.Signal{Kind: fetcher.SignalPost, Position: "1", Post: &fetcher.Tweet{ID: "1", Text: "one"}}},
	} {
		for _, c := range streamCases() {
			t.Run(row.name+"/"+c.name, func(t *testing.T) {
				t.Parallel()
				kit := StreamKit{patience: 100 * time.Millisecond, Open: func(t testing.TB) StreamUpstream {
					s := wrongStream{newFake().Streamer(enginetest.StreamConfig{}), func(ctx context.Context, _ fetcher.StreamQuery, emit func(fetcher.Signal) error) error {
						for row.say != nil && ctx.Err() == nil {
							if err := emit(*row.say); err != nil {
								return err
							}
							select {
							case <-time.After(time.Millisecond):
							case <-ctx.Done():
							}
						}
						<-ctx.Done()
						return ctx.Err()
					}}
					nothing := func(fetcher.Account) {}
					return StreamUpstream{
						New: func(testing.TB) fetcher.Streamer { return s }, Accounts: platformAccounts, Gradual: true, Resumes: true,
						Post: func(fetcher.Account, string) {}, Edit: func(fetcher.Account, string) {}, Delete: nothing, Break: func() {}, Clamp: func() {},
					}
				}}
				began := time.Now()
				said := planted.Reports(t, func(tb testing.TB) { runStream(tb, kit, c) })
				if len(said) == 0 && c.name != "a heartbeat shows that the stream is alive" || time.Since(began) > 5*time.Second {
					t.Errorf("reports %q after %s", said, time.Since(began))
				}
			})
		}
	}
}
