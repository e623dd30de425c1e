package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/streamwatch/streamwatch/billing"
	"github.com/streamwatch/streamwatch/internal/command"
	"github.com/streamwatch/streamwatch/internal/report"
	"github.com/streamwatch/streamwatch/record"
	"github.com/streamwatch/streamwatch/storage"
)

const statusAbout = `Status prints what needs a person, the servers and sources, and what each owner has. It reads the store, in which a
running server saves its state every minute, and changes nothing.`

// state is what the command status prints.
type state struct {
	Problems []report.Problem `json:"problems"`
	Servers  []serverState    `json:"servers"`
	Sources  []sourceState    `json:"sources"`
	Owners   []*owned         `json:"owners"`
}

// serverState is an engine that runs or ran on the store.
type serverState struct {
	Name    string    `json:"name"`
	State   string    `json:"state"` // running, stopped or gone
	SavedAt time.Time `json:"saved_at"`
}

// sourceState is a source as a server sees it.
type sourceState struct {
	Name   string             `json:"name"`
	Server string             `json:"server"`
	State  report.SourceState `json:"state"`
	Since  time.Time          `json:"since,omitzero"`
	Error  string             `json:"error,omitempty"`
}

// owned is how much an owner has.
type owned struct {
	Owner    string          `json:"owner"`
	Monitors int             `json:"monitors"`
	Accounts int64           `json:"accounts"`
	Rules    int             `json:"rules"`
	Webhooks int             `json:"webhooks"`
	Keys     int             `json:"keys"`
	Credits  billing.Credits `json:"credits"`
}

// defineStatus is the command status.
func defineStatus(f *command.Flags) command.Run {
	var owner string
	f.Add(&owner, "owner", "whose alone; without it all owners'")
	asJSON := f.JSON()
	storeFlags(f)
	return func(ctx context.Context, p process) error {
		c, err := storeConfig(p, f)
		if err != nil {
			return err
		}
		c.admin = true
		store, done, err := openExisting(ctx, c)
		if err != nil {
			return err
		}
		defer done()
		s, err := stateOf(ctx, store.Ports(), owner, time.Now())
		if err != nil {
			return err
		}
		if *asJSON {
			return command.PrintJSON(p.Out, s)
		}
		return s.print(p.Out, time.Now())
	}
}

// stateOf reads the state of what runs on a store. With an owner it leaves out what is of others.
func stateOf(ctx context.Context, ports storage.Ports, owner string, now time.Time) (*state, error) {
	reports, err := report.Read(ctx, ports.State)
	if err != nil {
		return nil, err
	}
	s := &state{Problems: []report.Problem{}, Servers: []serverState{}, Sources: []sourceState{}}
	for i := range reports {
		r := &reports[i]
		one := serverState{cmp.Or(r.Node, "alone"), "running", r.At}
		if r.Left {
			one.State = "stopped"
		} else if now.Sub(r.At) >= report.Gone {
			one.State = "gone"
		}
		s.Servers = append(s.Servers, one)
		for _, src := range r.Sources {
			if one.State == "running" {
				s.Sources = append(s.Sources, sourceState{cmp.Or(src.Name, "platform"), one.Name, src.State, src.Since, src.Error})
			}
		}
	}
	found, err := report.OfRecords(ctx, ports.Records, ports.Ledger, reports, now)
	if err != nil {
		return nil, err
	}
	for _, p := range report.Sort(append(found, report.OfReports(reports, now)...)) {
		if owner == "" || p.Owner == owner {
			s.Problems = append(s.Problems, p)
		}
	}
	s.Owners, err = ownersOf(ctx, ports, owner)
	return s, err
}

// ownersOf counts what the owners have, or one of them.
func ownersOf(ctx context.Context, ports storage.Ports, owner string) ([]*owned, error) {
	all := map[string]*owned{}
	for kind, count := range map[record.Kind]func(*owned, record.Record){
		record.Monitor:  func(o *owned, r record.Record) { o.Monitors, o.Accounts = o.Monitors+1, o.Accounts+r.Size },
		record.Rule:     func(o *owned, _ record.Record) { o.Rules++ },
		record.Endpoint: func(o *owned, _ record.Record) { o.Webhooks++ },
		record.APIKey:   func(o *owned, _ record.Record) { o.Keys++ },
	} {
		if err := ports.Records.Scan(ctx, kind, func(r record.Record) error {
			if owner != "" && r.Owner != owner {
				return nil
			}
			if all[r.Owner] == nil {
				all[r.Owner] = &owned{Owner: r.Owner}
			}
			count(all[r.Owner], r)
			return nil
		}); err != nil {
			return nil, err
		}
	}
	list := make([]*owned, 0, len(all))
	for _, name := range slices.Sorted(maps.Keys(all)) {
		b, err := ports.Ledger.Balance(ctx, name)
		if err != nil {
			return nil, err
		}
		all[name].Credits = b.Available / billing.Credit
		list = append(list, all[name])
	}
	return list, nil
}

// print prints the state as tables.
func (s *state) print(w io.Writer, now time.Time) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	row := func(cells ...any) {
		for i, cell := range cells {
			if at, ok := cell.(time.Time); ok {
				cells[i] = "-"
				if !at.IsZero() {
					cells[i] = now.Sub(at).Round(time.Second).String() + " ago"
				}
			}
			cells[i] = cmp.Or(plain(fmt.Sprint(cells[i])), "-") // receivers write some of them
		}
		fmt.Fprintf(t, strings.Repeat("%v\t", len(cells)-1)+"%v\n", cells...)
	}
	if len(s.Problems) == 0 {
		fmt.Fprintln(t, "All well.")
	} else {
		row("PROBLEM", "OWNER", "ID", "NAME", "SINCE", "REASON")
	}
	for _, p := range s.Problems {
		row(p.Kind, p.Owner, p.ID, p.Name, p.Since, p.Reason)
	}
	fmt.Fprint(t, "\nSERVER\tSTATE\tSAVED\n")
	for _, v := range s.Servers {
		row(v.Name, v.State, v.SavedAt)
	}
	if len(s.Servers) == 0 {
		fmt.Fprintln(t, "none has run here for a minute")
	}
	fmt.Fprint(t, "\nSOURCE\tSERVER\tSTATE\tSINCE\tERROR\n")
	for _, v := range s.Sources {
		row(v.Name, v.Server, v.State, v.Since, v.Error)
	}
	fmt.Fprint(t, "\nOWNER\tMONITORS\tACCOUNTS\tRULES\tWEBHOOKS\tKEYS\tCREDITS\n")
	for _, o := range s.Owners {
		row(o.Owner, o.Monitors, o.Accounts, o.Rules, o.Webhooks, o.Keys, o.Credits)
	}
	return t.Flush()
}
