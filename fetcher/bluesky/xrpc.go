package bluesky

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/fetcher/scan"
)

// maxItems is the largest accepted number of posts in a page, ten times the largest number to
// request.
const maxItems = 10 * maxPageSize

const invalidRequest = "InvalidRequest"

// xrpcErrors maps the error names of XRPC answers to the errors of package fetcher.
var xrpcErrors = map[string]error{
	"ActorNotFound":          fetcher.ErrNotFound,
	"AccountNotFound":        fetcher.ErrNotFound,
	"HandleNotFound":         fetcher.ErrNotFound,
	"InvalidHandle":          fetcher.ErrNotFound,
	"RepoNotFound":           fetcher.ErrNotFound,
	"AccountDeactivated":     fetcher.ErrProtected,
	"AccountSuspended":       fetcher.ErrProtected,
	"AccountTakedown":        fetcher.ErrProtected,
	"BlockedActor":           fetcher.ErrProtected,
	"BlockedByActor":         fetcher.ErrProtected,
	"RepoDeactivated":        fetcher.ErrProtected,
	"RepoSuspended":          fetcher.ErrProtected,
	"RepoTakendown":          fetcher.ErrProtected,
	"AuthMissing":            fetcher.ErrUnauthorized,
	"AuthenticationRequired": fetcher.ErrUnauthorized,
	"ExpiredToken":           fetcher.ErrUnauthorized,
	"InvalidToken":           fetcher.ErrUnauthorized,
}

// notFoundMessages are parts, in lower case, of the messages for an unknown account. An
// InvalidRequest whose message has none of these parts has another reason, such as a bad cursor.
var notFoundMessages = []string{
	"profile not found",
	"actor not found",
	"account not found",
	"repo not found",
	"could not find repo",
	"unable to resolve handle",
	"must be a valid handle",
	"must be a valid did or a handle",
}

// xrpcError converts a *StatusError to an error of package fetcher. It uses the error name in
// the answer, because the status is 400 for most names. It returns other errors, and errors
// with an unknown name, unchanged.
func xrpcError(err error) error {
	var status *fetcher.StatusError
	if !errors.As(err, &status) {
		return err
	}
	name, message := errorBody(status.Detail)
	meaning := xrpcErrors[name]
	if name == invalidRequest {
		lower := strings.ToLower(message)
		for _, m := range notFoundMessages {
			if strings.Contains(lower, m) {
				meaning = fetcher.ErrNotFound
			}
		}
	}
	if meaning == nil {
		return err
	}
	return fmt.Errorf("%w: %s: %s", meaning, name, message)
}

// unresolved converts the error of a failed handle look-up: InvalidRequest becomes ErrNotFound,
// because the handle is the only parameter and so must be the invalid one.
func unresolved(err error) error {
	var status *fetcher.StatusError
	if errors.As(err, &status) {
		if name, message := errorBody(status.Detail); name == invalidRequest {
			return fmt.Errorf("%w: %s: %s", fetcher.ErrNotFound, name, message)
		}
	}
	return err
}

// errorBody returns the members "error" and "message" of an error answer. detail is the start
// of the answer and may be cut off anywhere. A member that is not complete is "".
func errorBody(detail string) (name, message string) {
	dec := json.NewDecoder(strings.NewReader(detail))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return "", ""
	}
	for {
		key, err := dec.Token()
		if err != nil {
			return name, message
		}
		value, err := dec.Token()
		text, ok := value.(string)
		switch {
		case err != nil || !ok:
			return name, message
		case key == "error":
			name = text
		case key == "message":
			message = text
		}
	}
}

// unmarshal is like json.Unmarshal, but a value of another type is not an error: the field
// keeps its zero value, and the other fields are decoded.
func unmarshal(b []byte, v any) error {
	err := json.Unmarshal(b, v)
	var other *json.UnmarshalTypeError
	if errors.As(err, &other) {
		return nil
	}
	return err
}

// listLen returns the number of elements in the list that s has read. Call it after s.Next has
// returned false. If the answer has several such lists, listLen counts the last one. It returns
// ErrMalformed if the answer is not valid JSON or has no such list.
func listLen(s *scan.Scanner, name string) (int, error) {
	if err := s.Err(); err != nil {
		return 0, fmt.Errorf("%s: %w", name, err)
	}
	n, ok := s.Len()
	if !ok {
		return 0, fmt.Errorf("%w: the answer has no list %q", fetcher.ErrMalformed, name)
	}
	return n, nil
}

func tooMany(name string) error {
	return fmt.Errorf("%w: %s: more than %d items", fetcher.ErrMalformed, name, maxItems)
}

// textOf returns the content of a JSON string, or nil for any other value.
func textOf(v scan.Value) []byte {
	text, _ := v.Text()
	return text
}
