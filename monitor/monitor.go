package monitor

import (
	"errors"
	"strings"
	"time"

	"github.com/streamwatch/streamwatch/internal/control"
	"github.com/streamwatch/streamwatch/internal/invalid"
)

// Status of a monitor.
type Status string

// Statuses of a monitor.
const (
	Active Status = Status(control.Active) // "active"
	Paused Status = Status(control.Paused) // "paused"
)

// Reasons for a status. After an error of the platform, StatusReason is ReasonUpstream followed
// by the text of the error. The monitor stays active. When the error ends, StatusReason becomes
// "".
const (
	ReasonUser     = control.ReasonUser    // "paused_by_user"
	ReasonCredits  = control.ReasonCredits // "insufficient_credits"
	ReasonUpstream = control.ReasonUpstream
)

// FilterType is a kind of posts that a monitor delivers.
type FilterType string

// Kinds of posts. An Original is no reply, retweet or quote. A reply that quotes a post is both
// Reply and Quote.
const (
	Original FilterType = "original"
	Reply    FilterType = "reply"
	Retweet  FilterType = "retweet"
	Quote    FilterType = "quote"
)

// Account is a tracked account.
type Account struct {
	Username string // without @, in the user's spelling
	// Since is when the account was added or the monitor was last resumed. Posts published
	// earlier are not events of this monitor. Suspend sets Since to the time up to which polls
	// have read the account.
	Since time.Time
}

// Monitor is the record of a stream monitor.
type Monitor struct {
	ID          string
	Owner       string
	Name        string // unique per owner
	Accounts    []Account
	FilterTypes []FilterType // none means all
	// PollInterval is the time between two polls of an account. The stored record has 0 if the
	// request had none, and a Manager returns its default for 0, or the shortest that the accounts
	// can have. If Config.Paced is set, PollInterval is the
	// longest time between two polls, and 0 means no limit.
	PollInterval time.Duration
	// Weight is the importance of this monitor's latency if a budget paces the polls
	// (Config.Paced). 0 means 1.
	Weight float64

	WebhookURL       string
	WebhookID        string // of the endpoint with that URL, "" for none
	WebhookSecretSet bool

	Status       Status
	StatusReason string // "" for none
	CreatedAt    time.Time
	UpdatedAt    time.Time
	ResumedAt    time.Time // when the monitor was last resumed; zero for never
	// Version is 1 after the creation and one more after each change. A change of the StatusReason
	// of an active monitor is none.
	Version int64
}

// Usernames returns the names of the tracked accounts.
func (m *Monitor) Usernames() []string {
	names := make([]string, len(m.Accounts))
	for i, a := range m.Accounts {
		names[i] = a.Username
	}
	return names
}

// Key returns a username in the form that is compared: without @ and in lower case. In a URL only
// the scheme and the host become lower case.
func Key(username string) string {
	name := strings.TrimPrefix(username, "@")
	before, after, ok := strings.Cut(name, "://")
	if i := strings.IndexAny(after, "/?"); ok && i >= 0 {
		return strings.ToLower(before) + "://" + strings.ToLower(after[:i]) + after[i:]
	}
	return strings.ToLower(name)
}

// Errors of a Manager.
var (
	ErrNotFound  = errors.New("monitor: not found")
	ErrDuplicate = errors.New("monitor: name already in use") // or the id
	ErrConflict  = errors.New("monitor: changed since it was read")
)

// FieldError reports a field with a value that is not allowed.
type FieldError = invalid.FieldError

// Query selects monitors of one owner.
type Query struct {
	Owner    string
	Status   Status // "" for all
	Page     int    // for Manager.Page: from 1; 0 means 1; empty beyond the last
	PageSize int    // for Manager.Page: 1 to 100; 0 means 20
}

// Page is one page of monitors, in order of creation, with the number of monitors on all
// pages.
type Page struct {
	Monitors []Monitor
	Total    int
	Page     int
	PageSize int
}
