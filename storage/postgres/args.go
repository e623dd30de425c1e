package postgres

import (
	"database/sql/driver"
	"encoding/hex"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/streamwatch/streamwatch/storage/internal/sqlstore"
)

// statement is a query of package sqlstore as PostgreSQL has it.
type statement struct {
	sql   string
	types []string // of the columns in {rows}
}

// statements has them by query.
var statements sync.Map

var words = strings.NewReplacer("{insert}", "INSERT INTO", "{update}", "UPDATE", "{join}", "JOIN", "{max}", "greatest", "{+}", "")

// arrays are the types of the columns in {rows}.
var arrays = map[string]string{"text": "text[]", "int": "bigint[]", "bool": "boolean[]", "bytes": "bytea[]"}

// prepared returns a query as PostgreSQL has it, with arrays. In FROM each array of a row would cost 15 µs.
func prepared(query string) *statement {
	if st, ok := statements.Load(query); ok {
		return st.(*statement)
	}
	st := new(statement)
	sql := words.Replace(query)
	if before, rest, ok := strings.Cut(sql, "{rows "); ok {
		list, after, _ := strings.Cut(rest, "}")
		st.types = strings.Split(list, ",")
		columns := make([]string, len(st.types))
		for i, t := range st.types {
			columns[i] = "unnest(?::" + arrays[t] + ")"
		}
		sql = before + "SELECT " + strings.Join(columns, ", ") + after
	}
	for word, array := range map[string]string{"{texts ": "text[]", "{ints ": "bigint[]"} {
		for {
			before, rest, ok := strings.Cut(sql, word)
			if !ok {
				break
			}
			arg, after, _ := strings.Cut(rest, "}")
			sql = before + "(SELECT unnest(" + arg + "::" + array + ") AS value)" + after
		}
	}
	st.sql = numbered(sql)
	statements.Store(query, st)
	return st
}

// numbered turns the placeholders ? and ?1 into $1. As in SQLite, ? is the one after the highest so
// far.
func numbered(sql string) string {
	var b strings.Builder
	highest := 0
	for i := 0; i < len(sql); i++ {
		if sql[i] != '?' {
			b.WriteByte(sql[i])
			continue
		}
		n := highest + 1
		if digits := len(sql[i+1:]) - len(strings.TrimLeft(sql[i+1:], "0123456789")); digits > 0 {
			n, _ = strconv.Atoi(sql[i+1 : i+1+digits])
			i += digits
		}
		highest = max(highest, n)
		fmt.Fprintf(&b, "$%d", n)
	}
	return b.String()
}

// columns returns rows of values as one array for each column.
func columns(types []string, values []any) ([]any, error) {
	width := len(types)
	args := make([]any, width)
	for c, t := range types {
		n := len(values) / width
		at := func(i int) *any { return &values[i*width+c] }
		switch t {
		case "text":
			for i := range n {
				if v, ok := (*at(i)).(driver.Valuer); ok {
					doc, err := v.Value()
					if err != nil {
						return nil, err
					}
					*at(i) = doc
				}
			}
			args[c] = array(n, at, func(v any) string { return escape(v.(string)) })
		case "bool":
			args[c] = array(n, at, func(v any) bool { return v.(bool) })
		case "bytes":
			args[c] = array(n, at, func(v any) []byte { return v.([]byte) })
		default:
			args[c] = array(n, at, intOf)
		}
	}
	return args, nil
}

// array returns the values of a column, as a []T, or as a []*T if some are null.
func array[T any](n int, at func(int) *any, of func(any) T) any {
	list := make([]T, n)
	var some []*T
	for i := range list {
		v := *at(i)
		if v == nil && some == nil {
			some = make([]*T, n)
			for k := range i {
				some[k] = &list[k]
			}
		}
		if v == nil {
			continue
		}
		list[i] = of(v)
		if some != nil {
			some[i] = &list[i]
		}
	}
	if some != nil {
		return some
	}
	return list
}

func intOf(v any) int64 {
	if n, ok := v.(int); ok {
		return int64(n)
	}
	return v.(int64)
}

// arguments returns the arguments of a query as pgx takes them.
func arguments(args []any) []any {
	list := make([]any, len(args))
	for i, arg := range args {
		switch arg := arg.(type) {
		case string:
			list[i] = escape(arg)
		case sqlstore.Texts:
			texts := make([]string, len(arg))
			for k := range arg {
				texts[k] = escape(arg[k])
			}
			list[i] = texts
		case sqlstore.Ints:
			list[i] = append(make([]int64, 0, len(arg)), arg...)
		default:
			list[i] = arg
		}
	}
	return list
}

// escapeByte begins an escape: see schema.sql.
const escapeByte = 0x1b

// escape writes what PostgreSQL refuses in a text in other characters.
func escape(s string) string {
	if strings.IndexByte(s, 0) < 0 && strings.IndexByte(s, escapeByte) < 0 && utf8.ValidString(s) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		if r == 0 || r == escapeByte || r == utf8.RuneError && size == 1 {
			fmt.Fprintf(&b, "\x1b%02x", s[i])
		} else {
			b.WriteString(s[i : i+size])
		}
		i += size
	}
	return b.String()
}

// unescape is the inverse of escape.
func unescape(s string) string {
	if strings.IndexByte(s, escapeByte) < 0 {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == escapeByte && i+2 < len(s) {
			if c, err := hex.DecodeString(s[i+1 : i+3]); err == nil {
				b.Write(c)
				i += 2
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// unescapeAll undoes escape in the texts that were scanned.
func unescapeAll(into []any) {
	for _, to := range into {
		if text, ok := to.(*string); ok {
			*text = unescape(*text)
		} else if v := reflect.ValueOf(to); v.Kind() == reflect.Pointer && v.Elem().Kind() == reflect.String {
			v.Elem().SetString(unescape(v.Elem().String()))
		}
	}
}
