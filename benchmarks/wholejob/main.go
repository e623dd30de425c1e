// Wholejob measures the whole job that a user has: accounts are polled over HTTP/2
// and TLS, pages decoded, new posts recognized, recorded and sent as
// signed webhooks.
//
//	go run ./wholejob
//	go run ./wholejob -for 10s -rounds 5 -accounts 1000,10000
//	go run ./wholejob -impl streamwatch -cpuprofile /tmp/cpu    # /tmp/cpu, case and name
//
// The platform and the receiver are a process of their own on this machine, each
// contestant another one: its CPU time counts. A page has 20 posts and 50 KB, and
// other counts in every answer, as a busy account's has: none is the same twice.
// The contestants:
//
//   - streamwatch: the engine with fetcher/mastodon and storage/sqlite
//   - streamwatch with Gather: the same with polls that begin together, every 10 ms
//   - afternoon: what one writes in an afternoon, with a ticker an account,
//     http.Client, encoding/json, a map, and a signed http.Post. It keeps nothing.
//   - request alone: the same requests by http.Client, the body read and dropped
//
// Cases are as many polls as go, with up to 64 requests under way, and 500 polls a
// second; then the losses: by bursts of 30 posts, more than a page has, and by
// kill -9 with a new start half a second later. A post's time begins when the
// platform shows it and ends when the receiver answers 2xx: at an interval most of it
// is the wait for the poll. "Read to 2xx" begins when the first page that has the post
// is asked for. A post is lost that was not sent 5 s after every account was polled
// twice more. After a kill a contestant that keeps what it found gets 55 s more: a
// delivery that was under way is sent again when its claim has ended.
//
// -for below 50 ms takes at most 20 accounts. It needs a Unix.
package main

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/streamwatch/streamwatch/benchmarks/report"
)

// options are the program's flags.
type options struct {
	report.Options
	accounts []int
	impls    []string
	cases    []string
	profile  string
}

// posts are new ones a second, of all accounts.
const posts = 20

// pagePosts is how many posts a page has.
const pagePosts = 20

func main() {
	if child() {
		return
	}
	o, err := parse(os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(report.ExitCode(err))
	}
	rows, err := compare(o)
	if err == nil {
		err = report.Write(os.Stdout, o.JSON, rows)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// parse reads the command line.
func parse(args []string) (options, error) {
	o := options{accounts: []int{1000}}
	var err error
	o.Options, err = report.ParseFlags("wholejob", args, func(own *flag.FlagSet) {
		report.Default(own, "for", "2s")
		report.Default(own, "rounds", "3")
		report.IntList(own, &o.accounts, "accounts", "how many accounts, a list of 1 to 100000 (default 1000)", 1, 100_000)
		report.Names(own, &o.impls, "impl", "contestants", names())
		report.Names(own, &o.cases, "cases", "kinds of cases", kinds)
		own.StringVar(&o.profile, "cpuprofile", "", "write CPU profiles of the contestants to files whose names begin so")
	})
	if o.For < 50*time.Millisecond {
		o.accounts = []int{min(20, slices.Min(o.accounts))}
	}
	return o, err
}

// kinds of cases.
const (
	saturated = "saturated"
	paced     = "paced"
	bursts    = "bursts"
	killed    = "kill"
)

var kinds = []string{saturated, paced, bursts, killed}

// trial is one case.
type trial struct {
	kind     string
	name     string
	accounts int
	interval time.Duration // between two polls of an account
	burst    int           // posts that come at once, of one account
}

// paceRate is how many polls a second are due where they do not go as fast as they
// can.
const paceRate = 500

// burst is more posts than a page has.
const burst = 30

func (o options) trials() (list []trial) {
	every := func(accounts int) time.Duration {
		return time.Duration(float64(accounts) / paceRate * float64(time.Second))
	}
	for _, n := range o.accounts {
		list = append(list,
			trial{kind: saturated, name: fmt.Sprintf("%d accounts, saturated", n), accounts: n, interval: time.Millisecond, burst: 1},
			trial{kind: paced, name: fmt.Sprintf("%d accounts, %d polls/s", n, paceRate), accounts: n, interval: every(n), burst: 1})
	}
	few := min(o.accounts[0], paceRate)
	list = append(list,
		trial{kind: bursts, name: fmt.Sprintf("%d accounts, bursts of %d", few, burst), accounts: few, interval: every(few), burst: burst},
		trial{kind: killed, name: fmt.Sprintf("%d accounts, kill -9", few), accounts: few, interval: every(few), burst: 1})
	return slices.DeleteFunc(list, func(t trial) bool { return !slices.Contains(o.cases, t.kind) })
}
