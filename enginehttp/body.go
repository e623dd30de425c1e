package enginehttp

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"math"
	"mime"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

const (
	maxBody  = 1 << 20 // bytes
	maxDepth = 64      // of nested arrays and objects
)

func malformed(text string) error {
	return &failure{status: http.StatusBadRequest, text: "malformed request body: " + text}
}

// readBody reads the JSON object of a request into c.form.
func (h *Handler) readBody(x *exchange, c *call, rt *route) error {
	if t, params, err := mime.ParseMediaType(c.Header.Get("Content-Type")); err != nil || t != "application/json" ||
		params["charset"] != "" && !strings.EqualFold(params["charset"], "utf-8") {
		return &failure{status: http.StatusUnsupportedMediaType, text: "unsupported content type: want application/json"}
	}
	// A body that arrives slowly must not extend the request beyond its timeout.
	control := http.NewResponseController(x.ResponseWriter)
	control.SetReadDeadline(time.Now().Add(h.opts.Timeout))
	text, err := io.ReadAll(http.MaxBytesReader(x.ResponseWriter, c.Body, maxBody))
	var tooLong *http.MaxBytesError
	if errors.As(err, &tooLong) {
		return &failure{status: http.StatusRequestEntityTooLarge, text: "request body too large: want at most 1 MiB"}
	}
	if err != nil {
		return &failure{status: http.StatusBadRequest, text: "request body not read to its end", cause: err}
	}
	control.SetReadDeadline(time.Time{})
	c.body = text
	c.form, err = parseForm(text, rt.fields)
	return err
}

// form is a JSON object. Its methods read one field each. err describes the first value that is
// not allowed; values read after it must not be used.
type form struct {
	raw map[string]json.RawMessage
	err error
}

// parseForm parses one JSON object. It refuses unknown and repeated fields.
func parseForm(text []byte, known []string) (*form, error) {
	if !utf8.Valid(text) {
		return nil, malformed("it is not UTF-8")
	}
	if err := checkDepth(text); err != nil {
		return nil, err
	}
	if !json.Valid(text) {
		return nil, malformed("it is not JSON")
	}
	dec := json.NewDecoder(bytes.NewReader(text))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return nil, malformed("want one JSON object")
	}
	f := &form{raw: make(map[string]json.RawMessage, len(known))}
	for dec.More() {
		t, err := dec.Token()
		name, ok := t.(string)
		if err != nil || !ok {
			return nil, malformed("it is not JSON")
		}
		if !slices.Contains(known, name) {
			return nil, &failure{status: http.StatusUnprocessableEntity,
				text: "field " + quote(name) + " is not allowed: want none but " + strings.Join(known, ", ")}
		}
		if _, twice := f.raw[name]; twice {
			return nil, malformed("field " + quote(name) + " is there twice")
		}
		var raw json.RawMessage
		if err := dec.Decode(&raw); err != nil {
			return nil, malformed("it is not JSON")
		}
		f.raw[name] = raw
	}
	return f, nil
}

// checkDepth limits the nesting before the text is parsed, because parsing takes stack for each
// level. It looks only at brackets and strings.
func checkDepth(text []byte) error {
	depth, inText := 0, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case inText && c == '\\':
			i++
		case c == '"':
			inText = !inText
		case inText:
		case c == '{' || c == '[':
			if depth++; depth > maxDepth {
				return malformed("it is nested too deep: want at most 64 levels")
			}
		case c == '}' || c == ']':
			depth--
		}
	}
	return nil
}

func quote(s string) string {
	b, _ := json.Marshal(cut(s, 64))
	return string(b)
}

// secretFields are the fields with values that must not appear in messages.
var secretFields = []string{"secret", "webhook_secret", "headers"}

// refuse sets err for a field that is missing or not allowed, unless err is already set. allowed
// describes the values that are allowed.
func (f *form) refuse(name, allowed string) {
	if f.err != nil {
		return
	}
	value, ok := f.raw[name]
	shown := cut(string(value), 120)
	switch {
	case !ok:
		shown = "is missing"
	case slices.Contains(secretFields, name):
		shown = "*** is not allowed"
	default:
		shown += " is not allowed"
	}
	f.err = &failure{status: http.StatusUnprocessableEntity, text: name + " " + shown + ": want " + allowed}
}

func (f *form) has(name string) bool    { _, ok := f.raw[name]; return ok }
func (f *form) isNull(name string) bool { return string(f.raw[name]) == "null" }

// field returns the value of a field, or nil if it is missing. It refuses null and values of
// another type; kind describes the type to the client.
func field[T any](f *form, name, kind string) *T {
	raw, ok := f.raw[name]
	if !ok {
		return nil
	}
	v := new(T)
	if hasHalf(raw) {
		f.refuse(name, kind+" of whole characters, not one half of a pair of surrogates")
		return nil
	}
	if string(raw) == "null" || json.Unmarshal(raw, v) != nil {
		f.refuse(name, kind)
		return nil
	}
	return v
}

// escape matches an escape in a JSON string, and two that together are a pair of surrogates.
var escape = regexp.MustCompile(`\\(?:[^u]|u[dD][89abAB]..\\u[dD][c-fC-F]..|u....)`)

// hasHalf reports whether valid JSON has one surrogate without the other, such as "\ud800". Package json
// would replace it by U+FFFD.
func hasHalf(raw []byte) bool {
	if !bytes.Contains(raw, []byte(`\u`)) {
		return false
	}
	for _, e := range escape.FindAll(raw, -1) {
		if len(e) == len(`\ud800`) && (e[2] == 'd' || e[2] == 'D') && e[3] >= '8' {
			return true
		}
	}
	return false
}

func (f *form) text(name string) *string    { return field[string](f, name, "a string") }
func (f *form) number(name string) *float64 { return field[float64](f, name, "a number") }

// texts returns a list of strings, or nil if the field is missing.
func (f *form) texts(name string) *[]string {
	items := field[[]*string](f, name, "a list of strings")
	if items == nil {
		return nil
	}
	list := make([]string, len(*items))
	for i, s := range *items {
		if s == nil {
			f.refuse(name, "a list of strings")
			return nil
		}
		list[i] = *s
	}
	return &list
}

const allowedTime = "an ISO 8601 time, such as 2026-11-21T09:00:00Z"

// moment returns a required time.
func (f *form) moment(name string) time.Time {
	t, err := time.Parse(time.RFC3339Nano, f.need(name, allowedTime))
	if err != nil {
		f.refuse(name, allowedTime)
	}
	return t
}

// optionalMoment returns a time. It is zero if the field is missing, null or "".
func (f *form) optionalMoment(name string) time.Time {
	if f.optional(name) == "" {
		return time.Time{}
	}
	return f.moment(name)
}

// need returns a required string. It refuses an empty one.
func (f *form) need(name, allowed string) string {
	v := f.text(name)
	if v == nil || *v == "" {
		f.refuse(name, allowed)
		return ""
	}
	return *v
}

// optional returns a string, "" if the field is missing or null.
func (f *form) optional(name string) string {
	if f.isNull(name) {
		return ""
	}
	if v := f.text(name); v != nil {
		return *v
	}
	return ""
}

// seconds returns a duration given in seconds, or nil if the field is missing. null means 0, the
// default. It reduces a number that is too large for a time.Duration. The limits that callers check
// are far lower.
func (f *form) seconds(name string) *time.Duration {
	if f.isNull(name) {
		return new(time.Duration)
	}
	v := f.number(name)
	if v == nil {
		return nil
	}
	const most = float64(math.MaxInt64/int64(time.Second)) / 2
	d := time.Duration(math.Round(max(-most, min(*v, most)) * float64(time.Second)))
	if d == 0 && *v != 0 {
		f.refuse(name, "0, or at least a nanosecond")
	}
	return &d
}

// pace returns interval_seconds, or nil if it is missing or null.
func pace(f *form) *time.Duration {
	if f.isNull("interval_seconds") {
		return nil
	}
	return f.seconds("interval_seconds")
}

// results returns max_results_per_poll, or nil if it is missing or null.
func results(f *form) *int {
	if f.isNull("max_results_per_poll") {
		return nil
	}
	n := field[int](f, "max_results_per_poll", "1 to 100")
	if n != nil && *n == 0 { // the manager would replace 0 with the default
		f.refuse("max_results_per_poll", "1 to 100")
	}
	return n
}
