package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// sources reads the list of sources. Each is a mapping with name, kind, url, and the options
// of its kind, by the names that -source has, but token-env for token. An option that has no
// value there is true here.
func (f *configFile) sources(list field, env func(string) (string, bool)) (all []sourceFlag) {
	if list.value.Kind != yaml.SequenceNode {
		f.refuse(list.at, list.key, "is a %s, which is not allowed: want a list", kindOf(list.value))
		return nil
	}
	if len(list.value.Content) == 0 {
		f.refuse(list.at, list.key, "is empty: want a source, or no such line")
	}
	for _, n := range list.value.Content {
		if n.Kind != yaml.MappingNode {
			f.refuse(n, list.key, "has a %s, which is not allowed: want name, kind and options", kindOf(n))
			continue
		}
		before := len(f.errs)
		s := f.source(n, env)
		if len(f.errs) > before {
			continue
		}
		if i := slices.IndexFunc(all, func(o sourceFlag) bool { return o.name == s.name }); i >= 0 {
			f.refuse(n, "name", "%q is not allowed twice: %s has it, too", s.name, all[i].from)
			continue
		}
		all = append(all, s)
	}
	return all
}

// source reads one.
func (f *configFile) source(n *yaml.Node, env func(string) (string, bool)) sourceFlag {
	s := sourceFlag{}
	var options []field
	var named, kinded bool
	for _, one := range f.fields(n) {
		text, ok := f.text(one)
		switch {
		case !ok:
		case one.key == "name":
			named, s.name, s.from = true, text, f.at(one.at, "source "+clip(text))
			if err := checkSourceName(text); err != nil {
				f.refuse(one.at, one.key, "%w", err)
			}
		case one.key == "kind":
			kinded = true
			if err := s.setKind(text); err != nil {
				f.errs = append(f.errs, fmt.Errorf("%s:%d: %w", f.path, one.at.Line, err))
			}
		default:
			options = append(options, one)
		}
	}
	if !named {
		f.refuse(n, "name", "is missing: want what accounts of the source begin with, such as bsky")
	}
	if !kinded {
		f.refuse(n, "kind", "is missing: want %s", kinds)
	}
	if s.name == "" || s.kind == "" {
		return s
	}
	for _, one := range options {
		at := f.at(one.at, "source "+clip(s.name))
		if err := s.fileOption(one, env); err != nil {
			f.errs = append(f.errs, fmt.Errorf("%s: %w", at, err))
		} else if one.key == "token-env" && s.token == "" {
			f.unset = append(f.unset, unset{at: at + ": " + one.key, variable: s.tokenIn})
		}
	}
	if err := s.check(); err != nil {
		f.errs = append(f.errs, fmt.Errorf("%s: %w", f.at(n, "source "+clip(s.name)), err))
	}
	return s
}

// fileOption sets an option as the file has it.
func (s *sourceFlag) fileOption(of field, env func(string) (string, bool)) error {
	value := of.value.Value
	switch {
	case of.key == "url":
		return s.setURL(value)
	case of.key == "token-env":
		return s.option("token", value, true, env)
	case of.key == "token":
		return errors.New(`"token" is not allowed: want token-env, the name of the environment variable that has it`)
	case of.value.Tag == "!!bool" && strings.EqualFold(value, "false"):
		return nil
	case of.value.Tag == "!!bool":
		return s.option(of.key, "", false, env)
	}
	return s.option(of.key, value, true, env)
}

// clip shortens a name, for messages, to 40 characters.
func clip(s string) string { return fmt.Sprintf("%.40s", s) }
