package rule

import (
	"errors"
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/streamwatch/streamwatch/internal/control"
	"github.com/streamwatch/streamwatch/internal/invalid"
	"github.com/streamwatch/streamwatch/rule/query"
)

// Status of a rule.
type Status string

// Statuses of a rule.
const (
	Active Status = Status(control.Active) // "active"
	Paused Status = Status(control.Paused) // "paused"
)

// Reasons for a status. After an error of the platform, StatusReason is ReasonUpstream followed
// by the text of the error. The rule stays active. When the error ends, StatusReason becomes "".
const (
	ReasonUser     = control.ReasonUser    // "paused_by_user"
	ReasonCredits  = control.ReasonCredits // "insufficient_credits"
	ReasonUpstream = control.ReasonUpstream
)

// Limits of a rule's fields.
const (
	MaxTag      = 100 // characters
	MinInterval = 100 * time.Millisecond
	MaxInterval = 24 * time.Hour
	MaxResults  = 100 // posts per poll

	// DefaultResults is the MaxResults of a rule if its CreateRequest has none.
	DefaultResults = 20
)

// Rule is the record of a filter rule.
type Rule struct {
	ID         string
	Owner      string
	Tag        string // 1 to MaxTag characters, unique per owner
	Query      string // 1 to MaxQuery characters
	Platform   string // the platform to search, one of Config.Platforms; "" for the first
	Interval   time.Duration
	Schedule   string // a cron expression, in place of Interval: see ParseSchedule
	MaxResults int    // posts read in a poll, 1 to MaxResults
	// Since is when the rule was created, resumed or given another query. The rule does not find
	// earlier posts. Suspend sets Since to the time up to which polls have read the rule's posts.
	Since time.Time

	WebhookURL       string
	WebhookID        string // of the endpoint with that URL, "" for none
	WebhookSecretSet bool

	Status       Status
	StatusReason string // "" for none
	CreatedAt    time.Time
	UpdatedAt    time.Time
	ResumedAt    time.Time // when the rule was last resumed; zero for never
	// Version is 1 after the creation and one more after each change. A change of the StatusReason
	// of an active rule is none.
	Version int64
}

// Errors of a Manager.
var (
	ErrNotFound  = errors.New("rule: not found")
	ErrDuplicate = errors.New("rule: tag already in use") // or the id
	ErrConflict  = errors.New("rule: changed since it was read")
)

// FieldError reports a field with a value that is not allowed.
type FieldError = invalid.FieldError

// Validate checks the limits of the fields. It does not parse the query or the schedule.
func (r *Rule) Validate() error {
	if n := utf8.RuneCountInString(r.Tag); n < 1 || n > MaxTag {
		return invalid.Field("rule", "tag", r.Tag, "1 to 100 characters")
	}
	if n := utf8.RuneCountInString(r.Query); n < 1 || n > query.MaxQuery {
		return invalid.Field("rule", "query", r.Query, "1 to 1,024 characters")
	}
	if r.Schedule == "" && (r.Interval < MinInterval || r.Interval > MaxInterval) {
		return invalid.Field("rule", "interval_seconds", fmt.Sprint(r.Interval.Seconds()), "0.1 to 86,400, or a schedule")
	}
	if r.Schedule != "" && r.Interval != 0 {
		return invalid.Field("rule", "schedule", r.Schedule, "either schedule or interval_seconds, not both")
	}
	if r.MaxResults < 1 || r.MaxResults > MaxResults {
		return invalid.Field("rule", "max_results_per_poll", fmt.Sprint(r.MaxResults), "1 to 100")
	}
	if r.Status != Active && r.Status != Paused {
		return invalid.Field("rule", "status", string(r.Status), `"active" or "paused"`)
	}
	return nil
}

// Query selects rules of one owner.
type Query struct {
	Owner    string
	Status   Status // "" for all
	Page     int    // for Manager.Page: from 1; 0 means 1; empty beyond the last
	PageSize int    // for Manager.Page: 1 to 100; 0 means 20
}

// Page is one page of rules, in order of creation, with the number of rules on all pages.
type Page struct {
	Rules    []Rule
	Total    int
	Page     int
	PageSize int
}
