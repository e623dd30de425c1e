package fetchertest

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"

	"github.com/streamwatch/streamwatch/fetcher"
)

// ProbeKit configures TestProber.
type ProbeKit struct {
	// Open starts an upstream without posts, independent of those opened before. It registers a
	// t.Cleanup that stops the upstream. Required.
	Open func(t testing.TB) ProbeUpstream
}

// ProbeUpstream is a fake of a platform that supports probes.
type ProbeUpstream struct {
	// Prober probes the upstream. Required.
	Prober fetcher.Prober
	// Accounts are three or more accounts of the upstream, with the UserID that a poll would
	// return. Required.
	Accounts []fetcher.Account
	// Missing is an account that nobody has.
	Missing fetcher.Account
	// Post publishes a post of one of Accounts. The account's mark must change immediately.
	// Required.
	Post func(fetcher.Account)
}

// TestProber checks, in subtests, that a Prober does what the documentation of package fetcher
// requires.
func TestProber(t *testing.T, kit ProbeKit) {
	t.Helper()
	for _, c := range probeCases() {
		t.Run(c.name, func(t *testing.T) { runProbe(t, kit, c) })
	}
}

// probeCase checks one behaviour. It runs with a new upstream.
type probeCase struct {
	name string
	run  func(*probeTest)
}

// probeTest is one case under way.
type probeTest struct {
	testing.TB
	up ProbeUpstream
}

func runProbe(tb testing.TB, kit ProbeKit, c probeCase) {
	tb.Helper()
	c.run(&probeTest{TB: tb, up: kit.Open(tb)})
}

// marks probes accounts. The probe must succeed and return a mark for each.
func (t *probeTest) marks(accounts []fetcher.Account) []fetcher.Mark {
	t.Helper()
	answer, err := t.up.Prober.Probe(t.Context(), accounts)
	if err != nil {
		t.Fatalf("Probe of %d accounts failed: %v", len(accounts), err)
	}
	if len(answer.Marks) != len(accounts) {
		t.Fatalf("Probe of %d accounts gives %d marks: want one for each", len(accounts), len(answer.Marks))
	}
	return answer.Marks
}

func probeCases() []probeCase {
	return []probeCase{
		{"there is a mark for each account", func(t *probeTest) {
			for i, m := range t.marks(t.up.Accounts) {
				if m == fetcher.NoMark {
					t.Errorf("account %q, which there is, has no mark", t.up.Accounts[i].Username)
				}
			}
			t.marks(nil) // a probe of nobody is no error
		}},
		{"an account that does not exist has no mark", func(t *probeTest) {
			if t.up.Missing == (fetcher.Account{}) {
				t.Skip("ProbeUpstream.Missing is empty")
			}
			marks := t.marks([]fetcher.Account{t.up.Accounts[0], t.up.Missing, t.up.Accounts[1]})
			if marks[1] != fetcher.NoMark {
				t.Errorf("account %q has the mark %d: want NoMark, nobody has it", t.up.Missing.Username, marks[1])
			}
			if marks[0] == fetcher.NoMark || marks[2] == fetcher.NoMark {
				t.Errorf("marks %v beside an account that does not exist: want marks of those that do", marks)
			}
		}},
		{"a new post changes the account's mark alone", func(t *probeTest) {
			for i, a := range t.up.Accounts {
				before := t.marks(t.up.Accounts)
				t.up.Post(a)
				for k, m := range t.marks(t.up.Accounts) {
					if changed := m != before[k]; changed != (k == i) {
						t.Errorf("after a post of account %d the mark of account %d was %d and is %d: want the first one's changed alone", i, k, before[k], m)
					}
				}
			}
		}},
		{"marks stay while nothing happens", func(t *probeTest) {
			t.up.Post(t.up.Accounts[0])
			before := t.marks(t.up.Accounts)
			if after := t.marks(t.up.Accounts); !slices.Equal(before, after) {
				t.Errorf("marks are %v, then %v, while nothing happened", before, after)
			}
		}},
		{"marks come in the order of the accounts", func(t *probeTest) {
			for i, a := range t.up.Accounts {
				for range i {
					t.up.Post(a)
				}
			}
			want, backwards := t.marks(t.up.Accounts), slices.Clone(t.up.Accounts)
			slices.Reverse(backwards)
			got := t.marks(backwards)
			slices.Reverse(got)
			if !slices.Equal(got, want) {
				t.Errorf("marks are %v, and of the accounts backwards %v: want each account's own", want, got)
			}
			a := t.up.Accounts
			if marks := t.marks([]fetcher.Account{a[0], a[1], a[0]}); marks[0] != marks[2] || marks[0] == fetcher.NoMark {
				t.Errorf("marks %v of one account twice, and another between: want the first and last equal", marks)
			}
		}},
		{"a call takes ProbeLimit accounts", func(t *probeTest) {
			limit := t.up.Prober.ProbeLimit()
			if limit < 1 {
				t.Fatalf("ProbeLimit is %d: want 1 or more", limit)
			}
			many := make([]fetcher.Account, limit)
			for i := range many {
				many[i] = t.up.Accounts[i%len(t.up.Accounts)]
			}
			if slices.Contains(t.marks(many), fetcher.NoMark) {
				t.Errorf("of %d accounts, which is ProbeLimit, some have no mark", limit)
			}
			if again := t.up.Prober.ProbeLimit(); again != limit {
				t.Errorf("ProbeLimit is %d, then %d", limit, again)
			}
		}},
		{"more than ProbeLimit accounts are not left out silently", func(t *probeTest) {
			many := make([]fetcher.Account, t.up.Prober.ProbeLimit()+1)
			for i := range many {
				many[i] = t.up.Accounts[i%len(t.up.Accounts)]
			}
			answer, err := t.up.Prober.Probe(t.Context(), many)
			if err == nil && (len(answer.Marks) != len(many) || slices.Contains(answer.Marks, fetcher.NoMark)) {
				t.Errorf("of %d accounts, one over ProbeLimit, only some have marks: want an error, or all of them", len(many))
			}
		}},
		{"a context that has ended is an error", func(t *probeTest) {
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			if _, err := t.up.Prober.Probe(ctx, t.up.Accounts); !errors.Is(err, context.Canceled) {
				t.Errorf("Probe with a context that has ended gives the error %v: want %v", err, context.Canceled)
			} else if errors.Is(err, fetcher.ErrUnsupported) {
				t.Errorf("Probe with a context that has ended gives the error %v: want it to be asked again", err)
			}
		}},
		{"calls from several goroutines have their own marks", func(t *probeTest) {
			for i, a := range t.up.Accounts {
				for range i {
					t.up.Post(a)
				}
			}
			want := t.marks(t.up.Accounts)
			var calls sync.WaitGroup
			for n := range 9 {
				calls.Go(func() {
					i := n % len(want)
					answer, err := t.up.Prober.Probe(t.Context(), t.up.Accounts[i:i+1])
					if err != nil || !slices.Equal(answer.Marks, want[i:i+1]) {
						t.Errorf("one of several calls at once gives the marks %v, %v: want %v", answer.Marks, err, want[i:i+1])
					}
				})
			}
			calls.Wait()
		}},
	}
}
