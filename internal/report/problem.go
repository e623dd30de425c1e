package report

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/streamwatch/streamwatch/billing"
	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/internal/control"
	"github.com/streamwatch/streamwatch/monitor"
	"github.com/streamwatch/streamwatch/record"
	"github.com/streamwatch/streamwatch/rule"
)

// ProblemKind is the kind of a Problem.
type ProblemKind string

// Kinds of problems, the worst first.
const (
	StoreFailing     ProblemKind = "store failing" // it takes no writes
	NodeMissing      ProblemKind = "node missing"  // a node of a fleet has saved no report for Gone
	SourceDown       ProblemKind = "source down"
	EndpointDisabled ProblemKind = "endpoint disabled"
	EndpointFailing  ProblemKind = "endpoint failing"
	MonitorPaused    ProblemKind = "monitor paused" // not by its owner
	RulePaused       ProblemKind = "rule paused"    // not by its owner
	SourceLimited    ProblemKind = "source limited"
	CreditsLow       ProblemKind = "credits low" // they cover less than a day
)

var kinds = []ProblemKind{StoreFailing, NodeMissing, SourceDown, EndpointDisabled, EndpointFailing, MonitorPaused, RulePaused, SourceLimited, CreditsLow}

// MaxProblems is how many problems are listed at most.
const MaxProblems = 1000

// Problem is something that needs a person.
type Problem struct {
	Kind   ProblemKind `json:"kind"`
	Severe bool        `json:"severe"`          // false for a warning
	Owner  string      `json:"owner,omitempty"` // of the endpoint, monitor, rule or credits
	ID     string      `json:"id"`              // of the endpoint, monitor, rule, source, owner or node
	Name   string      `json:"name,omitempty"`  // what a person calls it: a URL, a name, a tag
	Since  time.Time   `json:"since,omitzero"`
	Reason string      `json:"reason,omitempty"` // such as the last error; "" if it is not known
	Until  time.Time   `json:"until,omitzero"`   // when the engine tries next, or the credits end; zero for never, or if it is not known
}

// Problems are what needs a person, the worst first, as found at a time.
type Problems struct {
	At   time.Time // zero if nothing was looked for yet
	List []Problem // MaxProblems at most
}

// Sort sorts problems, the worst first and of a kind the oldest, and cuts the list to MaxProblems.
func Sort(list []Problem) []Problem {
	slices.SortFunc(list, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(slices.Index(kinds, a.Kind), slices.Index(kinds, b.Kind)), a.Since.Compare(b.Since), cmp.Compare(a.ID, b.ID))
	})
	return list[:min(len(list), MaxProblems)]
}

// OfRecords finds the problems in the records of all owners. reports are of all nodes. ledger is nil
// if nothing is charged. It reads every record.
func OfRecords(ctx context.Context, records record.Store, ledger billing.Ledger, reports []Report, now time.Time) ([]Problem, error) {
	var list []Problem
	prices := map[string]billing.Credits{} // a day, by owner
	for kind, find := range map[record.Kind]func(record.Record) (Problem, bool){
		record.Endpoint: func(r record.Record) (Problem, bool) { return ofEndpoint(r, reports, now) },
		record.Monitor:  ofMonitor,
		record.Rule:     ofRule,
	} {
		err := records.Scan(ctx, kind, func(r record.Record) error {
			if r.Status == string(control.Active) && r.Price > 0 {
				prices[r.Owner] += billing.Credits(r.Price)
			}
			if p, found := find(r); found {
				p.Severe, p.Owner, p.ID, p.Name = true, r.Owner, r.ID, r.Name
				list = append(list, p)
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	if ledger == nil {
		return list, nil
	}
	for owner, price := range prices {
		b, err := ledger.Balance(ctx, owner)
		if err != nil {
			return nil, err
		}
		if b.Available < price {
			left := time.Duration(float64(max(b.Available, 0)) / float64(price) * float64(24*time.Hour))
			list = append(list, Problem{Kind: CreditsLow, Owner: owner, ID: owner, Name: owner, Since: now, Until: now.Add(left),
				Reason: fmt.Sprintf("%g credits left, %g used a day", whole(b.Available), whole(price))})
		}
	}
	return list, nil
}

// ofEndpoint returns the problem of an endpoint. It decodes only those that have one.
func ofEndpoint(r record.Record, reports []Report, now time.Time) (p Problem, found bool) {
	if r.Status == string(deliver.EndpointActive) && r.Note == "" {
		return p, false
	}
	e, _ := deliver.EndpointFromRecord(r) // has what could be decoded
	p = Problem{Kind: EndpointDisabled, Since: e.StatusSince, Reason: e.StatusReason}
	if e.Status == deliver.EndpointActive {
		last := Health(reports, r.ID, now).LastError
		p = Problem{Kind: EndpointFailing, Since: e.FailingSince, Reason: last.Error}
	}
	return p, true
}

func ofMonitor(r record.Record) (p Problem, found bool) {
	if r.Status != string(control.Paused) {
		return p, false
	}
	m, err := monitor.FromRecord(r)
	return Problem{Kind: MonitorPaused, Since: m.UpdatedAt, Reason: m.StatusReason}, err == nil && m.StatusReason != control.ReasonUser
}

func ofRule(stored record.Record) (p Problem, found bool) {
	if stored.Status != string(control.Paused) {
		return p, false
	}
	r, err := rule.FromRecord(stored)
	return Problem{Kind: RulePaused, Since: r.UpdatedAt, Reason: r.StatusReason}, err == nil && r.StatusReason != control.ReasonUser
}

// OfReports finds the problems of nodes and sources. reports are of all nodes.
func OfReports(reports []Report, now time.Time) (list []Problem) {
	sources := map[string]Problem{}
	for i := range reports {
		r := &reports[i]
		if r.Missing(now) {
			list = append(list, Problem{Kind: NodeMissing, Severe: true, ID: r.Node, Name: r.Node, Since: r.At})
		}
		if r.Left || now.Sub(r.At) >= Gone {
			continue
		}
		for _, s := range r.Sources {
			p := Problem{Kind: SourceLimited, ID: s.Name, Name: s.Name, Since: s.Since, Until: s.Until, Reason: s.Error}
			if s.State == Down {
				p.Kind, p.Severe = SourceDown, true
			}
			if worst, there := sources[s.Name]; s.State != Up && (!there || p.Severe && !worst.Severe) {
				sources[s.Name] = p
			}
		}
	}
	for _, p := range sources {
		list = append(list, p)
	}
	return list
}

// whole returns an amount in credits.
func whole(c billing.Credits) float64 { return float64(c) / float64(billing.Credit) }
