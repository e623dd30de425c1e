package deliver

import (
	"strconv"
	"strings"

	"github.com/streamwatch/streamwatch/internal/invalid"
)

// MaxErrorText is the longest Result.Error and Attempt.Error, in bytes.
const MaxErrorText = 1024

// TimeoutError is the Result.Error of an attempt that timed out.
const TimeoutError = "timeout"

// Bound cuts the texts of r to their longest lengths. If r is a failure without an Error, Bound sets
// Error.
func (r *Result) Bound() {
	if !r.OK && r.Error == "" {
		if r.Error = "failed without a reason"; r.StatusCode != 0 {
			r.Error = "status " + strconv.Itoa(r.StatusCode)
		}
	}
	r.Error = invalid.Cut(strings.ToValidUTF8(r.Error, "\ufffd"), MaxErrorText)
	r.ResponsePreview = previewText(r.ResponsePreview)
}
