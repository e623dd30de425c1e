package push

import (
	"fmt"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/fetcher"
)

// judged is a Health with a clock of its own, connected for an hour.
type judged struct {
	*Health
	t    *testing.T
	now  time.Time
	from time.Time // an account's covering began
	n    int
}

const auditEvery = 30 * time.Minute

func judge(t *testing.T) *judged {
	j := &judged{t: t, now: time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)}
	j.Health = NewHealth(func(tw *fetcher.Tweet) bool { return tw.Text != "by design" }, auditEvery, func() time.Time { return j.now })
	if j.Trusted() {
		t.Error("trusted before it is connected")
	}
	j.connected(3)
	j.heard()
	j.from = j.now
	j.pass(time.Hour)
	return j
}

func (j *judged) pass(d time.Duration) { j.now = j.now.Add(d) }

// post is one that was published some time ago.
func (j *judged) post(ago time.Duration) *fetcher.Tweet {
	j.n++
	return &fetcher.Tweet{ID: fmt.Sprint(j.n), PublishedAt: j.now.Add(-ago)}
}

func (j *judged) bring(posts int, lag time.Duration) {
	for range posts {
		j.Pushed(j.post(lag), j.now)
	}
}

func (j *judged) wants(trusted bool, misses int64, when string) {
	j.t.Helper()
	if s := j.Stats(); s.Trusted != trusted || j.Trusted() != trusted || s.Misses != misses {
		j.t.Errorf("%s: trusted %t, %d misses; want %t, %d", when, s.Trusted, s.Misses, trusted, misses)
	}
}

func TestTrust(t *testing.T) {
	j := judge(t)
	j.wants(true, 0, "alive")
	changes := 0
	j.changed = func() { changes++ }
	if !j.Found(j.post(time.Minute), j.from) {
		t.Error("a post of a minute ago is no miss")
	}
	j.wants(false, 1, "after a miss")
	if changes == 0 {
		t.Error("nobody was told")
	}
	j.pass(auditEvery - 1)
	j.bring(1000, time.Second)
	j.wants(false, 1, "after posts, and just before an audit")
	j.pass(1)
	j.wants(true, 1, "after the time of an audit")
	j.Found(j.post(time.Minute), j.from)
	j.wants(false, 2, "after another miss")
	j.pass(auditEvery)

	j.broken()
	j.wants(false, 2, "while it is not connected")
	if s := j.Stats(); s.Connected || s.Accounts != 0 {
		t.Errorf("stats %+v", s)
	}
	if j.Found(j.post(time.Minute), j.from) {
		t.Error("a post that is found while it is not connected is a miss")
	}
	j.connected(2)
	j.wants(false, 2, "connected again")
	j.heard()
	j.wants(true, 2, "alive again")
	if s := j.Stats(); !s.Connected || s.Accounts != 2 || s.Connects != 2 {
		t.Errorf("stats %+v", s)
	}
}

func TestWhatIsNoMiss(t *testing.T) {
	j := judge(t)
	pinned, design := j.post(time.Minute), j.post(time.Minute)
	pinned.Pinned, design.Text = true, "by design"
	for name, post := range map[string]*fetcher.Tweet{
		"before it was covered":   j.post(j.now.Sub(j.from) + 1),
		"it may still come":       j.post(leastLag - 1),
		"pinned":                  pinned,
		"it leaves out by design": design,
	} {
		if j.Found(post, j.from) {
			t.Errorf("%s: it is a miss", name)
		}
	}
	j.wants(true, 0, "after all of them")
	for name, ago := range map[string]time.Duration{"the first one covered": j.now.Sub(j.from), "it cannot come any more": leastLag} {
		if !j.Found(j.post(ago), j.from) {
			t.Errorf("%s: it is no miss", name)
		}
	}
}

// A post counts as missed when it is older than nearly all were that came, within
// bounds.
func TestLagDecidesWhatIsMissed(t *testing.T) {
	for _, c := range []struct{ lag, ok, missed time.Duration }{
		{time.Millisecond, leastLag - time.Second, leastLag},
		{3 * time.Minute, 3 * time.Minute * 9 / 10, 3 * time.Minute * 11 / 10},
		{30 * time.Minute, mostLag - time.Second, mostLag},
	} {
		j := judge(t)
		j.bring(500, c.lag)
		if j.Found(j.post(c.ok), j.from) || !j.Found(j.post(c.missed), j.from) {
			t.Errorf("with a lag of %s posts of %s and %s ago: want the second alone missed", c.lag, c.ok, c.missed)
		}
	}
}

// What a connection brings from before it, its platform had to keep: it says nothing
// about how long posts take.
func TestLagIsOfThisConnection(t *testing.T) {
	j := judge(t)
	j.broken()
	j.pass(time.Hour)
	j.connected(3)
	j.bring(100, 30*time.Minute)
	if s := j.Stats(); s.Posts != 100 || s.Lag.Count() != 0 {
		t.Errorf("%d posts, the lag of %d: want 100 and 0", s.Posts, s.Lag.Count())
	}
	j.pass(time.Minute)
	j.bring(2, 40*time.Second)
	j.Pushed(j.post(-time.Minute), j.now) // its clock is ahead
	if s := j.Stats(); s.Lag.Count() != 3 || s.Lag.Max() < 39*time.Second || s.Lag.Max() > 42*time.Second {
		t.Errorf("the lag of %d posts, %s at most; want 3, 40 s", s.Lag.Count(), s.Lag.Max())
	}
}

func TestShareOfMisses(t *testing.T) {
	j := judge(t)
	for range 3 * memory {
		j.bring(9, time.Second)
		j.Found(j.post(time.Minute), j.from)
	}
	if got := j.Stats().MissRate; got < 0.09 || got > 0.11 {
		t.Errorf("a share of %g, want 0.1", got)
	}
	j.bring(10*memory, time.Second)
	if got := j.Stats().MissRate; got > 0.001 {
		t.Errorf("a share of %g after %d posts without a miss", got, 10*memory)
	}
}
