package main

import "slices"

// breakage is one place to break.
type breakage struct {
	name  string
	file  string
	old   string // stands in file exactly once
	new   string
	tests []string // packages one of whose tests must turn red
}

var (
	detectTests    = []string{"./detect"}
	dueTests       = []string{"./internal/due"}
	scanTests      = []string{"./fetcher/scan"}
	seenTests      = []string{"./internal/seen"}
	apikeyTests    = []string{"./apikey"}
	billingTests   = []string{"./billing"}
	deliverTests   = []string{"./deliver"}
	webhookTests   = []string{"./deliver/webhook", "./deliver/endpoints"}
	endpointsTests = []string{"./deliver/endpoints", "./deliver/dispatch"}
	dispatchTests  = []string{"./deliver/dispatch", "./deliver/endpoints"}
	netguardTests  = []string{"./internal/netguard", "./deliver/webhook"}
	wshubTests     = []string{"./deliver/wshub"}
	httpTests      = []string{"./enginehttp"}
	latencyTests   = []string{"./latency"}
	memoryTests    = []string{"./storage/memory"}
	monitorTests   = []string{"./monitor"}
	searchTests    = []string{"./fetcher/searchtimeline"}
	paceTests      = []string{"./internal/pace"}
	promTests      = []string{"./engineprom"}
	ruleTests      = []string{"./rule", "./rule/query"}
	redisTests     = []string{"./storage/redisstore"}
	rootTests      = []string{"."}
	sqliteTests    = []string{"./storage/sqlite"}
)

// list has all breakages.
var list = slices.Concat(detection, delivery, stores, services)
