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

// etag returns the ETag for a version of a record.
func etag(version int64) string { return `"` + strconv.FormatInt(version, 10) + `"` }

var unmatched = &failure{status: http.StatusPreconditionFailed, text: "If-Match is not the ETag of the record as it is: read it again"}

// ifMatch returns the version in If-Match. It is 0 if the header is missing or "*", which
// matches every version. A value that etag does not produce is an error: it matches no version.
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

// precondition converts a version conflict to a 412 if the request has an If-Match. It returns
// other errors unchanged.
func (c *call) precondition(err error) error {
	if c.version != 0 && (errors.Is(err, monitor.ErrConflict) || errors.Is(err, rule.ErrConflict) || errors.Is(err, deliver.ErrEndpointConflict)) {
		return unmatched
	}
	return err
}
