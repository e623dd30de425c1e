package query

import (
	"cmp"
	"fmt"
	"slices"
)

// Diagnostic is an error or a warning about a part of a query.
type Diagnostic struct {
	// Code is stable, so programs can compare it: E_… for errors, W_… for warnings.
	Code string
	// Start and End are byte offsets into the query.
	Start, End int
	Message    string
	// Hint says what to write instead; "" if there is no suggestion.
	Hint string
}

// String is one line: code, offset, message and hint.
func (d Diagnostic) String() string {
	s := fmt.Sprintf("%s at byte %d: %s", d.Code, d.Start, d.Message)
	if d.Hint != "" {
		s += "; " + d.Hint
	}
	return s
}

// Warning is a Diagnostic of a query that is accepted all the same.
type Warning = Diagnostic

// SyntaxError reports why a query is refused. It has at most 16 errors, in the order of the text.
type SyntaxError struct {
	Query  string
	Errors []Diagnostic // never empty
}

// maxErrors bounds how many errors of one query are reported.
const maxErrors = 16

// Error returns the first error and the number of the others.
func (e *SyntaxError) Error() string {
	s := "rule: " + e.Errors[0].String()
	if n := len(e.Errors) - 1; n > 0 {
		s += fmt.Sprintf(" (and %d more)", n)
	}
	return s
}

// findings collects the errors and warnings of a parse.
type findings struct {
	errors   []Diagnostic
	warnings []Warning
}

func (f *findings) fail(code string, start, end int, hint, format string, args ...any) {
	if len(f.errors) < maxErrors {
		f.errors = append(f.errors, Diagnostic{code, start, end, fmt.Sprintf(format, args...), hint})
	}
}

func (f *findings) warn(code string, start, end int, hint, format string, args ...any) {
	if len(f.warnings) < maxErrors {
		f.warnings = append(f.warnings, Warning{code, start, end, fmt.Sprintf(format, args...), hint})
	}
}

// refuse adds an error if strict is set, and a warning otherwise. what is the part of the code
// after E_ or W_.
func (f *findings) refuse(strict bool, what string, start, end int, hint, format string, args ...any) {
	if strict {
		f.fail("E_"+what, start, end, hint, format, args...)
	} else {
		f.warn("W_"+what, start, end, hint, format, args...)
	}
}

func (f *findings) sort() {
	byStart := func(a, b Diagnostic) int { return cmp.Compare(a.Start, b.Start) }
	slices.SortStableFunc(f.errors, byStart)
	slices.SortStableFunc(f.warnings, byStart)
}
