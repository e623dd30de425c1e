package main

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"time"
)

// history is how many posts an account has at first, every three hours one.
const history = 40

// post is what a page has of a post.
type post struct {
	id int64
	at time.Time
}

// newPost is one that has come since the posting began, with its way to the receiver.
type newPost struct {
	post
	account int
	read    time.Time // when the first page that has it was asked for
	sent    time.Time // when the receiver first had it
	times   int       // the receiver had it
}

// world has the accounts and their posts. It is safe for concurrent use.
type world struct {
	began time.Time

	mu    sync.Mutex
	seq   int64
	asked []bool       // by account: its newest page was asked for
	fresh [][]*newPost // by account, the oldest first
	posts map[int64]*newPost
	polls int64
	warm  int // accounts asked for
	wrong int // requests at the receiver without a good signature or a known post
}

func newWorld(accounts int) *world {
	return &world{began: time.Now(), asked: make([]bool, accounts), fresh: make([][]*newPost, accounts), posts: map[int64]*newPost{}}
}

// publish shows n posts of one account.
func (w *world) publish(account, n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := time.Now()
	for range n {
		w.seq++
		p := &newPost{post: post{id: now.UnixMilli()<<16 | w.seq&0xffff, at: now}, account: account}
		w.fresh[account] = append(w.fresh[account], p)
		w.posts[p.id] = p
	}
}

// page gives up to limit posts of an account with ids below a bound, the newest first.
// It is a poll when there is no bound.
func (w *world) page(account int, below int64, limit int) []post {
	out := make([]post, 0, limit)
	now := time.Now()
	w.mu.Lock()
	defer w.mu.Unlock()
	if below == 0 {
		w.polls++
		if !w.asked[account] {
			w.asked[account] = true
			w.warm++
		}
	}
	fits := func(id int64) bool { return below == 0 || id < below }
	for _, p := range slices.Backward(w.fresh[account]) {
		if len(out) < limit && fits(p.id) {
			if p.read.IsZero() {
				p.read = now
			}
			out = append(out, p.post)
		}
	}
	for i := 0; i < history && len(out) < limit; i++ {
		at := w.began.Add(-time.Duration(i+1)*3*time.Hour - time.Duration(account)*time.Millisecond)
		if p := (post{at.UnixMilli()<<16 | 0xffff, at}); fits(p.id) {
			out = append(out, p)
		}
	}
	return out
}

// receive notes that the receiver has got a post.
func (w *world) receive(id int64, signed bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	p := w.posts[id]
	if p == nil || !signed {
		w.wrong++
		return
	}
	if p.times++; p.times == 1 {
		p.sent = time.Now()
	}
}

// run publishes a burst at once and then at a rate, of accounts by chance, until stop
// is closed. The rate counts single posts.
func (w *world) run(rate float64, burst int, stop <-chan struct{}) {
	chance := rand.New(rand.NewPCG(7, 11))
	tick := time.NewTicker(time.Duration(float64(burst) / rate * float64(time.Second)))
	defer tick.Stop()
	for {
		w.publish(chance.IntN(len(w.fresh)), burst)
		select {
		case <-stop:
			return
		case <-tick.C:
		}
	}
}

// state is how far it is.
type state struct {
	Warm  int   // accounts that were asked for
	Polls int64 // so far
	Open  int   // posts that have not been sent
}

func (w *world) state() state {
	w.mu.Lock()
	defer w.mu.Unlock()
	s := state{Warm: w.warm, Polls: w.polls}
	for _, p := range w.posts {
		if p.times == 0 {
			s.Open++
		}
	}
	return s
}

// result is what became of the posts.
type result struct {
	Posts, Lost, Doubled, Wrong int
	Shown, Read                 []float64 // ms until the 2xx, sorted
}

func (w *world) result() result {
	w.mu.Lock()
	defer w.mu.Unlock()
	r := result{Posts: len(w.posts), Wrong: w.wrong}
	for _, p := range w.posts {
		if p.times == 0 {
			r.Lost++
			continue
		}
		r.Doubled += p.times - 1
		r.Shown = append(r.Shown, milliseconds(p.sent.Sub(p.at)))
		r.Read = append(r.Read, milliseconds(p.sent.Sub(p.read)))
	}
	slices.SortFunc(r.Shown, cmp.Compare)
	slices.SortFunc(r.Read, cmp.Compare)
	return r
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// username and accountID name account i, and accountOf is their inverse: -1 for
// anything else.
func username(i int) string  { return namePrefix + strconv.Itoa(i) }
func accountID(i int) string { return strconv.FormatInt(firstAccount+int64(i), 10) }

const (
	namePrefix         = "account"
	firstAccount int64 = 109302436954
)

func (w *world) accountOf(id string) int {
	n, err := strconv.ParseInt(id, 10, 64)
	if n -= firstAccount; err != nil || n < 0 || n >= int64(len(w.fresh)) {
		return -1
	}
	return int(n)
}
