package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/streamwatch/streamwatch/secret"
)

// configFile is a configuration file of serve, in YAML. Its keys are the names of flags,
// sources, a list of what -source has, and those of secretKeys.
type configFile struct {
	path  string
	root  *yaml.Node // a mapping; nil for a file without content
	errs  []error
	unset []unset // secrets whose variable is not set
}

// maxConfigFile bounds a configuration file, in bytes.
const maxConfigFile = 1 << 20

// secretKeys are the keys whose value names an environment variable, with the name of the
// secret that the variable has.
var secretKeys = map[string]string{"seal-key-env": "seal-key", "cursor-key-env": "cursor-key", "token-env": "token", "redis-env": "redis"}

// notYAML returns the parser's error with the file and the line in front, as "FILE:LINE: ".
func notYAML(path string, err error) error {
	text := strings.TrimPrefix(err.Error(), "yaml: ")
	if line, what, ok := strings.Cut(strings.TrimPrefix(text, "line "), ": "); ok && line != text {
		return fmt.Errorf("%s:%s: is not YAML: %s", path, line, what)
	}
	return fmt.Errorf("%s: is not YAML: %s", path, text)
}

// readConfigFile reads a file. apply checks its keys and values.
func readConfigFile(path string) (*configFile, error) {
	r, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	text, err := io.ReadAll(io.LimitReader(r, maxConfigFile+1))
	switch {
	case err != nil:
		return nil, err
	case len(text) > maxConfigFile:
		return nil, fmt.Errorf("%s is not allowed: want at most %d bytes", path, maxConfigFile)
	}
	f := &configFile{path: path}
	d := yaml.NewDecoder(strings.NewReader(string(text)))
	var doc yaml.Node
	if err := d.Decode(&doc); errors.Is(err, io.EOF) {
		return f, nil
	} else if err != nil {
		return nil, notYAML(path, err)
	}
	if err := d.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%s: a second document is not allowed: want one", path)
	}
	f.root = doc.Content[0]
	if f.root.Kind != yaml.MappingNode {
		return nil, fmt.Errorf("%s:%d: a %s is not allowed: want keys and values, such as addr: 127.0.0.1:8080", path, f.root.Line, kindOf(f.root))
	}
	return f, nil
}

// at returns where a key is, as errors and the command check call it: "FILE:LINE: KEY".
func (f *configFile) at(n *yaml.Node, key string) string {
	return fmt.Sprintf("%s:%d: %s", f.path, n.Line, key)
}

func (f *configFile) refuse(n *yaml.Node, key, format string, args ...any) {
	f.errs = append(f.errs, fmt.Errorf("%s %w", f.at(n, key), fmt.Errorf(format, args...)))
}

// field is a key with its value.
type field struct {
	key   string
	at    *yaml.Node // the key
	value *yaml.Node
}

// fields returns the fields of a mapping. It refuses a key that is there twice.
func (f *configFile) fields(of *yaml.Node) (all []field) {
	for i := 0; i+1 < len(of.Content); i += 2 {
		key := of.Content[i]
		if j := slices.IndexFunc(all, func(o field) bool { return o.key == key.Value }); j >= 0 {
			f.refuse(key, strconv.Quote(key.Value), "is not allowed twice: it is on line %d, too", all[j].at.Line)
			continue
		}
		all = append(all, field{key.Value, key, of.Content[i+1]})
	}
	return all
}

// text returns the value of a field that has a single one; others are refused.
func (f *configFile) text(of field) (text string, ok bool) {
	switch {
	case of.value.Kind == yaml.ScalarNode && of.value.Tag != "!!null":
		return of.value.Value, true
	case of.value.Kind == yaml.ScalarNode:
		f.refuse(of.at, of.key, "is empty: want a value, or no such line")
	default:
		f.refuse(of.at, of.key, "is a %s, which is not allowed: want a value", kindOf(of.value))
	}
	return "", false
}

// apply sets the flags and secrets that the file has, except those in from, which the
// command line or the environment has set, and adds them to from. It returns the sources.
func (f *configFile) apply(fs flags, secrets map[string]*secret.Value, from origins, env func(string) (string, bool)) (sources []sourceFlag, err error) {
	if f.root == nil {
		return nil, nil
	}
	var redis field // redis or redis-env, whichever came first
	for _, one := range f.fields(f.root) {
		if one.key == "redis" || one.key == "redis-env" {
			if redis.at != nil {
				f.refuse(one.at, one.key, "is not allowed with %s: want one of them", f.at(redis.at, redis.key))
				continue
			}
			redis = one
		}
		name, isSecret := secretKeys[one.key]
		known := fs.Lookup(one.key)
		switch {
		case one.key == "sources":
			if from["source"] == "" { // else the command line or the environment has some
				from["source"] = f.at(one.at, one.key)
				sources = f.sources(one, env)
			}
		case isSecret:
			f.secret(fs, secrets, from, one, name, env)
		case known == nil, one.key == "source", one.key == "config":
			f.refuse(one.at, strconv.Quote(one.key), "is not allowed: want one of %s", strings.Join(fileKeys(fs), ", "))
		default:
			f.flag(fs, from, one, known)
		}
	}
	return sources, errors.Join(f.errs...)
}

// flag sets one flag.
func (f *configFile) flag(fs flags, from origins, one field, known *flag.Flag) {
	text, ok := "", false
	if one.value.Kind == yaml.SequenceNode && one.key == "origins" {
		parts := make([]string, 0, len(one.value.Content))
		for _, n := range one.value.Content {
			parts = append(parts, n.Value)
		}
		text, ok = strings.Join(parts, ","), true
	} else {
		text, ok = f.text(one)
	}
	if !ok || from[one.key] != "" {
		return // it is refused, or the command line or the environment has it
	}
	from[one.key] = f.at(one.at, one.key)
	if err := fs.set(known, text); err != nil {
		f.refuse(one.at, one.key, "%w", err)
	}
}

// secret sets one secret, or -redis, whose address may have a password.
func (f *configFile) secret(fs flags, secrets map[string]*secret.Value, from origins, one field, name string, env func(string) (string, bool)) {
	named, ok := f.text(one)
	if !ok || from[name] != "" {
		return
	}
	value, err := secretOf(named, env)
	if err != nil {
		f.refuse(one.at, one.key, "%w", err)
		return
	}
	from[name] = f.at(one.at, one.key)
	if value == "" {
		f.unset = append(f.unset, unset{from[name], name, named})
	}
	if known := fs.Lookup(name); known != nil {
		known.Value.Set(string(value))
		return
	}
	*secrets[name] = value
}

// fileKeys returns the keys that a file may have.
func fileKeys(fs flags) (all []string) {
	fs.VisitAll(func(one *flag.Flag) {
		if one.Name != "source" && one.Name != "config" {
			all = append(all, one.Name)
		}
	})
	for key := range secretKeys {
		all = append(all, key)
	}
	all = append(all, "sources")
	slices.Sort(all)
	return all
}

// kindOf names the kind of a node, for messages.
func kindOf(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "mapping"
	case yaml.SequenceNode:
		return "list"
	case yaml.AliasNode:
		return "reference"
	}
	return "single value"
}
