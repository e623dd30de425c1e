package enginehttp

import (
	"errors"
	"net/http"
	"strconv"
	"strings"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/monitor"
	"github.com/streamwatch/streamwatch/rule"
)

// etag is the ETag of a record, which changes with its version.
func etag(version int64) string { return `"` + strconv.FormatInt(version, 10) + `"` }

var unmatched = &failure{status: http.StatusPreconditionFailed, text: "If-Match is not the ETag of the record as it is: read it again"}

// ifMatch is the version that a request is for; 0 without If-Match, and for "*",
// which matches whatever there is. What is no ETag of ours matches nothing.
func (c *call) ifMatch() (int64, error) {
	sent := c.Header.Values("If-Match")
	if len(sent) == 0 || len(sent) == 1 && sent[0] == "*" {
		return 0, nil
	}
	if len(sent) > 1 || strings.Contains(sent[0], ",") {
		return 0, refused("If-Match", strings.Join(sent, ", "), "the ETag of the record, or *")
	}
	version, err := strconv.ParseInt(strings.Trim(sent[0], `"`), 10, 64)
	if err != nil || version < 1 || etag(version) != sent[0] {
		return 0, unmatched
	}
	return version, nil
}

// precondition makes a conflict with the version that was asked for a 412.
func (c *call) precondition(err error) error {
	if c.version != 0 && (errors.Is(err, monitor.ErrConflict) || errors.Is(err, rule.ErrConflict) || errors.Is(err, deliver.ErrEndpointConflict)) {
		return unmatched
	}
	return err
}
