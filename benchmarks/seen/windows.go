package main

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"

	"github.com/puzpuzpuz/xsync/v4"

	"github.com/streamwatch/streamwatch/benchmarks/report"
	"github.com/streamwatch/streamwatch/internal/seen"
)

// post is the id of an account's i-th newest post. Accounts post every 20
// minutes to every 8 hours.
func post(account, i int) uint64 {
	gap := uint64(20+account*7%460) * 60_000 // ms
	return (60_000_000_000-uint64(i)*gap-uint64(account))<<22 | uint64(account*31+i*17)%(1<<22)
}

// accounts is a memory of the timelines of many accounts.
type accounts struct {
	name string
	// load shows an account's memory a page, new ids and all.
	load func(account int, ids []string)
	// page asks for a page's ids and gives how many are known; then the poll is
	// over.
	page func(account int, ids []string) int
}

// kept is what detect keeps of a poll: it is handed from goroutine to goroutine.
var kept *seen.Poll

func ourWindows(int) accounts {
	var ws seen.Windows
	return accounts{report.Ours, func(account int, ids []string) {
		w := ws.At(account)
		p := w.Poll()
		var newIDs []string
		for _, id := range ids {
			if !p.Has(id) {
				newIDs = append(newIDs, id)
			}
		}
		w.Renew(p, newIDs)
		ws.Set(account, w)
	}, func(account int, ids []string) int {
		p := ws.At(account).Poll()
		kept = p
		known := 0
		for _, id := range ids {
			if p.Has(id) {
				known++
			}
		}
		w := ws.At(account) // as detect does, after the commit
		w.Renew(kept, nil)
		ws.Set(account, w)
		return known
	}}
}

// peerAccounts are a map for each account, and maps for all of them, whose ids
// differ.
func peerAccounts() []func(n int) accounts {
	return []func(n int) accounts{
		func(n int) accounts {
			ms := make([]map[string]struct{}, n)
			return perID20("map[string]struct{} an account", func(account int, id string) {
				if ms[account] == nil {
					ms[account] = map[string]struct{}{}
				}
				ms[account][id] = struct{}{}
			}, func(account int, id string) bool {
				_, known := ms[account][id]
				return known
			})
		},
		func(int) accounts {
			m := new(sync.Map)
			return perID20("one sync.Map", func(_ int, id string) { m.Store(id, struct{}{}) },
				func(_ int, id string) bool { _, known := m.Load(id); return known })
		},
		func(int) accounts {
			m := xsync.NewMap[string, struct{}]()
			return perID20("one xsync.Map", func(_ int, id string) { m.Store(id, struct{}{}) },
				func(_ int, id string) bool { _, known := m.Load(id); return known })
		},
	}
}

func perID20(name string, add func(account int, id string), has func(account int, id string) bool) accounts {
	return accounts{name, func(account int, ids []string) {
		for _, id := range ids {
			add(account, id)
		}
	}, func(account int, ids []string) int {
		known := 0
		for _, id := range ids {
			if has(account, id) {
				known++
			}
		}
		return known
	}}
}

// show gives all accounts a page that begins with their first-newest post.
func (a *accounts) show(n, first int) {
	for account := range n {
		ids := make([]string, pageSize)
		for i := range ids {
			ids[i] = strconv.FormatUint(post(account, first+i), 10)
		}
		a.load(account, ids)
	}
}

func windows(o options) ([]report.Row, error) {
	var rows []report.Row
	cold := fmt.Sprintf("page of 20, cold, %d accounts", o.windows)
	var all []accounts
	before := heap()
	for _, build := range append([]func(n int) accounts{ourWindows}, peerAccounts()...) {
		a := build(o.windows)
		a.show(o.windows, 1) // then one post more: 20 ids and an older one
		a.show(o.windows, 0)
		after := heap()
		rows = append(rows, row(cold, a.name, "memory", (after-before)/float64(o.windows), "B"))
		before = after
		all = append(all, a)
	}
	times, err := pageTimes(o, "page of 20, hot", all, func() int { return 0 })
	if err != nil {
		return nil, err
	}
	rng := rand.New(rand.NewPCG(1, 2))
	more, err := pageTimes(o, cold, all, func() int { return rng.IntN(o.windows) })
	if err != nil {
		return nil, err
	}
	rows = append(append(times, more...), rows...)
	for _, replaced := range []int{5, 20} {
		before := heap()
		a := ourWindows(o.windows)
		a.show(o.windows, replaced)
		a.show(o.windows, 0)
		kase := fmt.Sprintf("%d of 20 posts replaced, memory", replaced)
		rows = append(rows, row(kase, a.name, "memory", (heap()-before)/float64(o.windows), "B"))
		a.page(0, nil) // it is still needed here
	}
	return rows, nil
}

// pageTimes takes the time of pages of the accounts that next chooses.
func pageTimes(o options, kase string, all []accounts, next func() int) ([]report.Row, error) {
	var b batch
	var chosen [batchPages]int
	var wrong error
	runs := make([]func() float64, len(all))
	for i, a := range all {
		runs[i] = func() float64 {
			return pageSize * perID(o.For, func() {
				for p := range chosen {
					chosen[p] = next()
				}
				b.fill(func(i int) uint64 { return post(chosen[i/pageSize], i%pageSize) })
			}, func() {
				for p, account := range chosen {
					if known := a.page(account, b.ids[p*pageSize:(p+1)*pageSize]); known != pageSize {
						wrong = fmt.Errorf("seen: %s: knows %d of account %d, want %d", a.name, known, account, pageSize)
					}
				}
			})
		}
	}
	var rows []report.Row
	for i, ns := range report.Interleave(o.Rounds, runs...) {
		rows = append(rows, row(kase, all[i].name, "time", ns, "ns/op"))
	}
	return rows, wrong
}
