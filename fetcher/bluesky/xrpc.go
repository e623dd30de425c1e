package bluesky

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/fetcher/scan"
)

// maxItems bounds what is accepted as a page: ten times what can be asked for.
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

// notFoundMessages tell an unknown account from the other reasons for
// InvalidRequest, such as a bad cursor. Lower case.
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

// xrpcError returns the error that the name in an error answer stands for; the status
// of most is 400.
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

// unresolved returns the error of a failed handle look-up. Its only parameter is the
// handle, so an invalid request is one with a handle that nobody can have.
func unresolved(err error) error {
	var status *fetcher.StatusError
	if errors.As(err, &status) {
		if name, message := errorBody(status.Detail); name == invalidRequest {
			return fmt.Errorf("%w: %s: %s", fetcher.ErrNotFound, name, message)
		}
	}
	return err
}

// errorBody reads {"error", "message"} from the start of a body, which may be
// cut off in the middle of the message.
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

// unmarshal is json.Unmarshal without the error for a value of another type:
// encoding/json leaves that field at its zero value and reads on.
func unmarshal(b []byte, v any) error {
	err := json.Unmarshal(b, v)
	var other *json.UnmarshalTypeError
	if errors.As(err, &other) {
		return nil
	}
	return err
}

// listLen returns how many elements the list of an answer has, once s has been
// through it. If the answer has several such lists, it counts the last one, whose
// elements are the last that s handed out.
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

// textOf returns the text of a string, nil for another value.
func textOf(v scan.Value) []byte {
	text, _ := v.Text()
	return text
}
