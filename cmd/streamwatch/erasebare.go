package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/streamwatch/streamwatch/detect"
	"github.com/streamwatch/streamwatch/monitor"
	"github.com/streamwatch/streamwatch/rule"
)

// watchedFor has the accounts and rules that an erasure has to know of: their cursors are
// stored under the names of the service's sources, which the store does not have.
type watchedFor struct {
	named map[string]bool // the sources that the owner's accounts and rules name
	// bare has, for each of the owner's accounts and rules that names no source, the targets
	// that it may have cursors of, without a source.
	bare [][]string
	// fixed has the targets of what names a source, of all owners, with that source.
	fixed map[string]bool
	known map[string]bool // the sources that anything of any owner names
}

// readWatched reads the monitors and rules of all owners, and sorts what they watch.
func readWatched(ctx context.Context, store keyedStore, rules *rule.Manager, owner string) (watchedFor, error) {
	w := watchedFor{named: map[string]bool{}, fixed: map[string]bool{}, known: map[string]bool{}}
	add := func(of, source string, targets ...string) {
		for _, t := range targets {
			if source != "" {
				w.fixed[source+"/"+t], w.known[source] = true, true
			}
		}
		switch {
		case of != owner:
		case source != "":
			w.named[source] = true
		case len(targets) > 0:
			w.bare = append(w.bare, targets)
		}
	}
	err := store.Monitors().Scan(ctx, func(m monitor.Monitor) error {
		for _, a := range m.Accounts {
			source, name := sourceOf(a.Username)
			add(m.Owner, source, detect.AccountTarget(name))
		}
		return nil
	})
	if err != nil {
		return w, err
	}
	return w, store.Rules().Scan(ctx, func(r rule.Rule) error {
		var targets []string
		if p, err := rules.ParseRule(&r); err == nil { // a rule that cannot be parsed was never polled
			sub := detect.ForRule(r, p, false)
			targets = append(targets, detect.QueryTarget(sub.Query))
			for _, author := range sub.Authors {
				targets = append(targets, detect.AccountTarget(author))
			}
		}
		add(r.Owner, r.Platform, targets...)
		return nil
	})
}

// sourceOf splits the name of an account into its source, "" for none, and the name there.
// The scheme of an address, such as that of a feed, is no source.
func sourceOf(account string) (source, name string) {
	source, name, ok := strings.Cut(strings.TrimPrefix(account, "@"), ":")
	if source = strings.ToLower(source); ok && checkSourceName(source) == nil && !strings.HasPrefix(name, "//") {
		return source, name
	}
	return "", account
}

// checkListed returns an error if an account or rule of the owner names a source that is not
// among names: its cursor would stay.
func (w *watchedFor) checkListed(names []string) error {
	missing := maps.Clone(w.named)
	for _, name := range names {
		delete(missing, name)
	}
	if len(missing) == 0 {
		return nil
	}
	return fmt.Errorf("-sources %q is not allowed: the owner has accounts or rules of %s: want all names of the service's sources, or nothing is removed",
		strings.Join(names, ","), strings.Join(slices.Sorted(maps.Keys(missing)), ", "))
}

// checkBare checks that the owner's accounts and rules that name no source are erased of the
// source that they were read from: of the platform, or, without one, of the first of names.
// It returns a usageError if more of them have a cursor under another source. left has a
// sentence for the operator if none of them has a cursor, and one for each other source under
// which some have.
func (c *eraseConfig) checkBare(ctx context.Context, journal detect.Journal, w watchedFor, names []string) (left []string, err error) {
	if len(w.bare) == 0 {
		return nil, nil
	}
	if len(names) == 0 && c.platform == "" {
		return nil, usageError{errors.New("-platform or -sources is missing: the owner has accounts or rules without a source's name: want what the service has, or nothing is removed")}
	}
	first := "" // the source that they will be erased of; "" is the platform
	if c.platform == "" {
		first = names[0]
	}
	all := []string{first}
	for _, source := range slices.Concat([]string{""}, names, slices.Sorted(maps.Keys(w.known))) {
		if !slices.Contains(all, source) {
			all = append(all, source)
		}
	}
	found, most := map[string]int{}, first
	for _, source := range all {
		if found[source], err = w.countUnder(ctx, journal, source); err != nil {
			return nil, err
		}
		if found[source] > found[most] {
			most = source
		}
	}
	const whose = "for the owner's accounts or rules without a source's name"
	list := strings.Join(names, ",")
	switch {
	case most == first:
	case most == "":
		return nil, usageError{fmt.Errorf("-sources %q is not allowed without -platform: the store has cursors of no source %s: want -platform as the service has it, or nothing is removed", list, whose)}
	case first == "":
		return nil, usageError{fmt.Errorf("%s %q is not allowed: the store has cursors of the source %s %s: want no -platform, and -sources with %[3]s first, as the service has them, or nothing is removed",
			c.from.called("platform"), c.platform, most, whose)}
	default:
		return nil, usageError{fmt.Errorf("-sources %q is not allowed: the store has cursors of the source %s %s: want %[2]s first, as the service has it, or nothing is removed", list, most, whose)}
	}
	if found[first] == 0 {
		left = append(left, "no cursor was found "+whose+": if they were read, by a source that is not among -sources, its cursors keep their names")
	}
	for _, source := range all {
		if of := "the source " + source; source != first && found[source] > 0 {
			if source == "" {
				of = "no source"
			}
			left = append(left, fmt.Sprintf("cursors of %s %s keep their names: they are from another -platform or another first source than now", of, whose))
		}
	}
	return left, nil
}

// countUnder returns how many of the accounts and rules in bare have a cursor under a source,
// "" for the platform. A cursor that something which names the source has as well does not
// count.
func (w *watchedFor) countUnder(ctx context.Context, journal detect.Journal, source string) (n int, err error) {
	prefix := ""
	if source != "" {
		prefix = source + "/"
	}
	var targets []string
	for _, one := range w.bare {
		for _, t := range one {
			if !w.fixed[prefix+t] {
				targets = append(targets, prefix+t)
			}
		}
	}
	cursors, err := journal.Cursors(ctx, targets...)
	if err != nil {
		return 0, err
	}
	has := map[string]bool{}
	for _, cursor := range cursors {
		has[cursor.Target] = true
	}
	for _, one := range w.bare {
		if slices.ContainsFunc(one, func(t string) bool { return has[prefix+t] }) {
			n++
		}
	}
	return n, nil
}
