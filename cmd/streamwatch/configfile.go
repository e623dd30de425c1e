package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/streamwatch/streamwatch/internal/command"
)

// reader reads values into a config, and records where each value comes from.
type reader struct {
	path  string // of the configuration file
	env   func(string) (string, bool)
	from  origins
	errs  []error
	unset []unset
}

// maxConfigFile bounds a configuration file, in bytes.
const maxConfigFile = 1 << 20

// file reads a YAML file into the config. It returns an error if the file cannot be read. Errors in
// keys and values are added to errs.
func (r *reader) file(path string, into *config) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxConfigFile+1))
	switch {
	case err != nil:
		return err
	case len(text) > maxConfigFile:
		return fmt.Errorf("%s is not allowed: want at most %d bytes", path, maxConfigFile)
	}
	r.path = path
	d := yaml.NewDecoder(strings.NewReader(string(text)))
	var doc yaml.Node
	if err := d.Decode(&doc); errors.Is(err, io.EOF) {
		return nil
	} else if err != nil {
		return fmt.Errorf("%s is not YAML: %s", path, strings.TrimPrefix(err.Error(), "yaml: "))
	}
	if err := d.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return fmt.Errorf("%s: a second document is not allowed: want one", path)
	}
	r.mapping(doc.Content[0], doc.Content[0], reflect.ValueOf(into).Elem(), "")
	return nil
}

// refuse adds an error about a key on the line of n.
func (r *reader) refuse(n *yaml.Node, key, format string, args ...any) {
	r.errs = append(r.errs, fmt.Errorf("%s:%d: %s%w", r.path, n.Line, key, fmt.Errorf(format, args...)))
}

// fieldOf returns the field of a struct with that key.
func fieldOf(of reflect.Value, key string) (reflect.Value, bool) {
	for i := range of.NumField() {
		if of.Type().Field(i).Tag.Get("yaml") == key && key != "" {
			return of.Field(i), true
		}
	}
	return reflect.Value{}, false
}

// mapping reads a mapping into a struct. Errors show its keys with the prefix.
func (r *reader) mapping(at, n *yaml.Node, into reflect.Value, prefix string) {
	if n.Kind != yaml.MappingNode {
		r.refuse(at, strings.TrimRight(prefix, "."), " is not allowed: want keys and values, such as addr: 127.0.0.1:8080")
		return
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		name := prefix + key.Value
		field, ok := fieldOf(into, key.Value)
		switch {
		case !ok:
			r.refuse(key, prefix, "%.40q is not allowed: the nearest key is %q", key.Value, command.Nearest(key.Value, keysOf(into.Type())))
		case r.from[name] != "":
			r.refuse(key, name, " is not allowed twice: see %s", r.from[name])
		default:
			r.from[name] = fmt.Sprintf("%s:%d: %s", r.path, key.Line, name)
			r.value(key, n.Content[i+1], field, name)
		}
	}
}

// value reads the value n of the key at node at.
func (r *reader) value(at, n *yaml.Node, into reflect.Value, key string) {
	switch {
	case into.Kind() == reflect.Struct:
		r.mapping(at, n, into, key+".")
	case into.Kind() == reflect.Slice && n.Kind == yaml.SequenceNode:
		into.Set(reflect.MakeSlice(into.Type(), len(n.Content), len(n.Content)))
		for i, one := range n.Content {
			name := fmt.Sprintf("%s[%d]", key, i)
			r.from[name] = fmt.Sprintf("%s:%d: %s", r.path, one.Line, name)
			r.value(one, one, into.Index(i), name)
		}
	case into.Kind() == reflect.Slice:
		r.refuse(at, key, " is not allowed: want a list")
	case n.Kind != yaml.ScalarNode:
		r.refuse(at, key, " is not allowed: want a single value")
	case n.Tag == "!!null":
		r.refuse(at, key, " is empty: want a value, or no such line")
	default:
		r.set(into, key, n.Value)
	}
}

// variable matches ${NAME} and ${NAME:-text}.
var variable = regexp.MustCompile(`\$\{([A-Za-z_][A-Za-z0-9_]*)(:-[^}]*)?\}`)

// set replaces the variables in a text and sets a single value from it. It does not replace variables
// that are not set.
func (r *reader) set(into reflect.Value, key, text string) {
	missing := len(r.unset)
	expanded := variable.ReplaceAllStringFunc(text, func(ref string) string {
		m := variable.FindStringSubmatch(ref)
		name, value := m[1], strings.TrimPrefix(m[2], ":-")
		if v, ok := r.env(name); ok && v != "" {
			value = v
		}
		if value == "" && m[2] == "" {
			r.unset = append(r.unset, unset{r.from[key], key, name})
			return ref
		}
		return value
	})
	if want := command.Parse(into, expanded); want != "" && len(r.unset) == missing {
		r.errs = append(r.errs, fmt.Errorf("%s %.40q is not allowed: want %s", r.from[key], text, want)) // text, since expanded may contain secrets
	}
}

// keysOf returns the keys of a struct.
func keysOf(of reflect.Type) (keys []string) {
	for i := range of.NumField() {
		if key := of.Field(i).Tag.Get("yaml"); key != "" {
			keys = append(keys, key)
		}
	}
	return keys
}
