package xapi

import (
	"bytes"
	"encoding/json"
	"strconv"
)

// The types of this file take JSON values of several types, and leave out others: one
// member that is odd loses no post. Their methods never return an error.

// ident is an id. X sends strings; a number is taken digit by digit.
type ident string

// UnmarshalJSON takes a string or a whole number.
func (s *ident) UnmarshalJSON(b []byte) error {
	*s = ""
	var text string
	if json.Unmarshal(b, &text) == nil {
		*s = ident(text)
		return nil
	}
	for i, c := range b {
		if (c < '0' || c > '9') && (c != '-' || i > 0) {
			return nil
		}
	}
	*s = ident(b)
	return nil
}

// count is a number of things.
type count int64

// UnmarshalJSON takes a number, or a string of one. What is below zero or no number is
// zero.
func (n *count) UnmarshalJSON(b []byte) error {
	*n = 0
	f, err := strconv.ParseFloat(string(bytes.Trim(b, `"`)), 64)
	if err == nil && f > 0 {
		*n = count(min(f, 1<<53))
	}
	return nil
}

// list is a list of which those elements are left out that are no objects. Some lists
// wrap each element in an object with "data".
type list[T any] []T

// UnmarshalJSON takes a list.
func (l *list[T]) UnmarshalJSON(b []byte) error {
	*l = nil
	var raw []json.RawMessage
	if json.Unmarshal(b, &raw) != nil {
		return nil
	}
	for _, b := range raw {
		if len(b) == 0 || b[0] != '{' {
			continue
		}
		var wrapped struct {
			ID   json.RawMessage `json:"id"`
			Data json.RawMessage `json:"data"`
		}
		if json.Unmarshal(b, &wrapped) == nil && wrapped.ID == nil && len(wrapped.Data) > 0 && wrapped.Data[0] == '{' {
			b = wrapped.Data
		}
		var v T
		if lenient(json.Unmarshal(b, &v)) == nil {
			*l = append(*l, v)
		}
	}
	return nil
}

// first returns the first of several values that is not zero: the same thing has
// different names in the generations of the API.
func first[T comparable](values ...T) T {
	var zero T
	for _, v := range values {
		if v != zero {
			return v
		}
	}
	return zero
}

// longer returns the list that has elements.
func longer[T any](a, b []T) []T {
	if len(a) > 0 {
		return a
	}
	return b
}
