package recorder

import (
	"time"

	"github.com/streamwatch/streamwatch/detect/internal/poll"
)

// causeApart is the shortest time between two dumps for one cause that the Recorder notices by
// itself: a platform that sends posts which cannot be delivered mostly does so with every
// answer, and a busy account leaves one gap after the other.
const causeApart = time.Hour

// causeGap is the cause of a dump when a gap opens.
const causeGap = "gap"

// losses are how many posts a source has shown that are not delivered, by cause.
type losses [len(causes)]int64

// noticed are the losses of a source when notice was called last.
type noticed struct {
	of *poll.Env // of the source's detector
	losses
}

// causes are the reasons of dumps for what was lost.
var causes = [...]string{
	"lost: no id", "lost: no time", "lost: from the future", "lost: another account's",
	"lost: too many on a page", "lost: one id twice", "lost: too old", "lost: version of a page",
}

func lossesOf(c *poll.Counters) losses {
	return losses{
		c.NoID.Load(), c.NoTime.Load(), c.Future.Load(), c.Author.Load(),
		c.Excess.Load(), c.SameID.Load(), c.Ancient.Load(), c.WrongVersions.Load(),
	}
}

// notice has a dump written when a source has lost something since it was noticed last.
func (r *Recorder) notice(e *poll.Env) {
	now := r.opts.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	last := r.losses[e.Platform]
	if last.of != e { // another engine was started since
		last = noticed{of: e}
	}
	were, are := last.losses, lossesOf(&e.Count)
	if are == were {
		return
	}
	r.losses[e.Platform] = noticed{e, are}
	for i, why := range causes {
		if are[i] > were[i] {
			r.caused(why, now)
		}
	}
}

// caused has a dump written for a cause, unless one was wanted for it less than causeApart
// ago. The caller holds mu.
func (r *Recorder) caused(why string, now time.Time) {
	if last, ok := r.dumped[why]; !ok || now.Sub(last) >= causeApart {
		r.dumped[why] = now
		r.Trigger(why)
	}
}

// forget has the next loss of any cause write a dump, even less than causeApart after the last
// one was wanted: the dump that was to show the losses could not be written.
func (r *Recorder) forget() {
	r.mu.Lock()
	defer r.mu.Unlock()
	clear(r.dumped)
}

// opened has a dump written when a gap opens.
func (r *Recorder) opened() {
	now := r.opts.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.caused(causeGap, now)
}
