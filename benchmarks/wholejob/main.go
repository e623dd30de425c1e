// Wholejob measures the whole job that a user has: accounts are polled over HTTP/2
// and TLS, pages decoded, posts told from those seen before, recorded and sent as
// signed webhooks.
//
//	go run ./wholejob
//	go run ./wholejob -for 10s -rounds 5 -accounts 1000,10000
//	go run ./wholejob -impl streamwatch -cpuprofile /tmp/cpu    # /tmp/cpu, case and name
//
// The platform and the receiver are a process of their own on this machine, each
// contestant another one, whose CPU time counts. A page has 20 posts and 50 KB, and
// other counts in every answer, as a busy account's has: none is the same twice.
// The contestants:
//
//   - streamwatch: the engine with fetcher/mastodon and storage/sqlite
//   - streamwatch with Gather: the same with polls that begin together, every 10 ms
//   - streamwatch by HTTP/1.1: the same with a connection for each request under way
//   - streamwatch with traces: the same with traces of 1 % of the posts, engineotel
//   - afternoon: what one writes in an afternoon, with a ticker an account,
//     http.Client, encoding/json, a map, and a signed http.Post. It keeps nothing.
//   - benthos: the stream processor, which does the job by configuration: a generator of
//     requests, processors http, unarchive, mapping and dedupe, an output http_client.
//     Its cache is in memory.
//   - request alone: the same requests by http.Client, the body read and dropped
//
// Cases are as many polls as go, with up to 64 requests under way, and 500 polls a
// second; then what is lost: by bursts of 30 posts, more than a page has, and by
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
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/streamwatch/streamwatch/benchmarks/report"
)

// options are the program's flags.
type options struct {
	report.Options
	accounts []int
	impls    []string
	cases    []string
	posts    float64
	page     int // posts on a page
	gzip     bool
	profile  string
	benthos  string // its program
}

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
	var o options
	var accounts, impls, cases string
	var err error
	o.Options, err = report.ParseFlags("wholejob", args, func(own *flag.FlagSet) {
		for name, value := range map[string]string{"for": "2s", "rounds": "3"} { // in place of what other programs do
			f := own.Lookup(name)
			f.DefValue = value
			if err := f.Value.Set(value); err != nil {
				panic(err)
			}
		}
		own.StringVar(&accounts, "accounts", "1000", "how many accounts, 1 to 100000; several numbers with commas between them")
		own.StringVar(&impls, "impl", "", "contestants, separated by commas; all when empty: "+strings.Join(names(), ", "))
		own.StringVar(&cases, "cases", "", "kinds of cases, separated by commas; all when empty: "+strings.Join(kinds, ", "))
		own.Float64Var(&o.posts, "posts", 20, "new posts a second, above 0 and at most 10000")
		own.IntVar(&o.page, "page", 20, "posts on a page, 1 to 40")
		own.BoolVar(&o.gzip, "gzip", false, "the platform compresses its pages")
		own.StringVar(&o.profile, "cpuprofile", "", "write CPU profiles of the contestants to files whose names begin so")
	})
	if err != nil {
		return options{}, err
	}
	for _, s := range strings.Split(accounts, ",") {
		n, err := strconv.Atoi(s)
		if err != nil || n < 1 || n > 100_000 {
			return options{}, fmt.Errorf("wholejob: -accounts %q is not allowed: want numbers from 1 to 100000 with commas between them", accounts)
		}
		o.accounts = append(o.accounts, n)
	}
	if !(o.posts > 0 && o.posts <= 10_000) {
		return options{}, fmt.Errorf("wholejob: -posts %v is not allowed: want more than 0 and at most 10000", o.posts)
	}
	if o.page < 1 || o.page > 40 {
		return options{}, fmt.Errorf("wholejob: -page %d is not allowed: want 1 to 40", o.page)
	}
	var err1, err2 error
	o.impls, err1 = chosen("impl", impls, names())
	o.cases, err2 = chosen("cases", cases, kinds)
	if err := errors.Join(err1, err2); err != nil {
		return options{}, err
	}
	if o.For < 50*time.Millisecond {
		o.accounts = []int{min(20, slices.Min(o.accounts))}
	}
	return o, nil
}

// chosen are those of all that a flag names, which are all when it names none.
func chosen(flag, value string, all []string) ([]string, error) {
	if value == "" {
		return all, nil
	}
	list := strings.Split(value, ",")
	for _, name := range list {
		if !slices.Contains(all, name) {
			return nil, fmt.Errorf("wholejob: -%s %q is not allowed: want any of %s", flag, name, strings.Join(all, ", "))
		}
	}
	return list, nil
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
