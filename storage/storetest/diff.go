package storetest

import (
	"bytes"
	"fmt"
	"reflect"
	"strings"
	"time"

	"github.com/streamwatch/streamwatch/secret"
)

// differs describes the first field in which two values of the same type differ, or returns "" if
// they are equal. Times are equal if they are the same instant, and an empty slice equals nil.
// Pointers are followed. Secrets are not shown.
func differs(got, want any) string {
	return diff("", reflect.ValueOf(got), reflect.ValueOf(want))
}

func diff(path string, got, want reflect.Value) string {
	switch w := want.Interface().(type) {
	case time.Time:
		if g := got.Interface().(time.Time); !g.Equal(w) {
			return tell(path, g, w)
		}
		return ""
	case []byte:
		if g := got.Bytes(); !bytes.Equal(g, w) {
			return fmt.Sprintf("%s has other bytes than were given (%d, want %d)", named(path), len(g), len(w))
		}
		return ""
	case secret.Value:
		if got.String() != string(w) {
			return named(path) + " is not the secret that was given"
		}
		return ""
	}
	switch want.Kind() {
	case reflect.Struct:
		for i := range want.NumField() {
			if d := diff(path+"."+want.Type().Field(i).Name, got.Field(i), want.Field(i)); d != "" {
				return d
			}
		}
		return ""
	case reflect.Slice:
		if got.Len() != want.Len() {
			return tell(path, fmt.Sprint(got.Len(), " long"), fmt.Sprint(want.Len(), " long"))
		}
		for i := range want.Len() {
			if d := diff(fmt.Sprintf("%s[%d]", path, i), got.Index(i), want.Index(i)); d != "" {
				return d
			}
		}
		return ""
	case reflect.Map:
		// fmt prints maps in the order of their keys. An empty map equals nil.
		if g, w := fmt.Sprint(got.Interface()), fmt.Sprint(want.Interface()); g != w {
			return tell(path, g, w)
		}
		return ""
	case reflect.Pointer:
		if got.IsNil() || want.IsNil() {
			if got.IsNil() != want.IsNil() {
				return tell(path, got, want)
			}
			return ""
		}
		return diff(path, got.Elem(), want.Elem())
	}
	if got.Interface() != want.Interface() {
		return tell(path, got.Interface(), want.Interface())
	}
	return ""
}

// tell describes a difference, with long values shortened.
func tell(path string, got, want any) string {
	return fmt.Sprintf("%s is %.80q, want %.80q", named(path), fmt.Sprint(got), fmt.Sprint(want))
}

func named(path string) string {
	if path == "" {
		return "it"
	}
	return strings.TrimPrefix(path, ".")
}
