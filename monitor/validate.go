package monitor

import (
	"fmt"
	"strings"
	"time"

	"github.com/streamwatch/streamwatch/internal/invalid"
)

const (
	maxName     = 100 // characters
	maxWeight   = 1000
	maxUsername = 253 // bytes: the longest host name, which a handle may be or contain
	maxURL      = 512 // bytes of a username that is a URL
)

// check validates the fields that only monitors have, except the accounts and the
// interval.
func check(mon *Monitor) error {
	if !invalid.Name(mon.Name, maxName) {
		return invalid.Field("monitor", "name", mon.Name, "1 to 100 printable characters")
	}
	seen := make(map[FilterType]bool)
	for _, ft := range mon.FilterTypes {
		switch ft {
		case Original, Reply, Retweet, Quote:
		default:
			return invalid.Field("monitor", "filter_types", string(ft), `a subset of "original", "reply", "retweet", "quote"`)
		}
		if seen[ft] {
			return invalid.Field("monitor", "filter_types", string(ft), "each kind once")
		}
		seen[ft] = true
	}
	if !(mon.Weight >= 0 && mon.Weight <= maxWeight) {
		return invalid.Field("monitor", "weight", fmt.Sprint(mon.Weight), fmt.Sprintf("0 to %d", maxWeight))
	}
	return nil
}

// checkInterval checks the interval of a request. 0 means that the request has none. Stored
// intervals are not checked, because a manager with another Config may have allowed them.
func (m *Manager) checkInterval(iv time.Duration) error {
	if iv >= m.cfg.MinInterval && iv <= MaxInterval || iv == 0 {
		return nil
	}
	none := "the default"
	if m.cfg.Paced {
		none = "none"
	}
	return invalid.Field("monitor", "poll_interval_seconds", fmt.Sprint(iv.Seconds()),
		fmt.Sprintf("%v to %v, or 0 for %s", m.cfg.MinInterval.Seconds(), MaxInterval.Seconds(), none))

}

// key returns an account's name in the form that the manager compares.
func (m *Manager) key(username string) string {
	return Key(m.cfg.Canonical(strings.TrimPrefix(username, "@")))
}

// accounts returns the accounts of a request, without @ and without repetitions. Names with the
// same key are one account, which gets the first spelling. Accounts in had keep their Since.
// Other accounts get now.
func (m *Manager) accounts(usernames []string, had []Account, now time.Time) ([]Account, error) {
	allowed := fmt.Sprintf("1 to %d accounts", m.cfg.MaxAccounts)
	since := make(map[string]time.Time, len(had))
	for _, a := range had {
		since[m.key(a.Username)] = a.Since
	}
	out := make([]Account, 0, min(len(usernames), m.cfg.MaxAccounts))
	taken := make(map[string]bool, len(usernames))
	for _, u := range usernames {
		name, err := m.CheckUsername(u)
		if err != nil {
			return nil, err
		}
		key := m.key(name)
		if taken[key] {
			continue
		}
		taken[key] = true
		a := Account{Username: name, Since: now}
		if t, ok := since[key]; ok {
			a.Since = t
		}
		if len(out) == m.cfg.MaxAccounts {
			return nil, invalid.Field("monitor", "usernames", fmt.Sprint(len(usernames)), allowed)
		}
		out = append(out, a)
	}
	if len(out) == 0 {
		return nil, invalid.Field("monitor", "usernames", "[]", allowed)
	}
	return out, nil
}

// CheckUsername returns an account's name as monitors keep it: without an @ at its beginning or
// after the name of a source. The error is that of a request with a name that is not allowed.
func (m *Manager) CheckUsername(username string) (string, error) {
	name := strings.TrimPrefix(username, "@")
	if !strings.Contains(name, "://") {
		name = strings.ReplaceAll(name, ":@", ":")
	}
	if !validUsername(name) {
		return "", invalid.Field("monitor", "usernames", username, "handles of 1 to 253 letters, digits, '_', '-', '.', ':' or '@', or addresses of feeds")
	}
	if m.cfg.CheckAccount != nil {
		if err := m.cfg.CheckAccount(name); err != nil {
			return "", invalid.Field("monitor", "usernames", username, err.Error())
		}
	}
	return name, nil
}

// validUsername reports whether s can be an account's name on some platform: a plain name,
// user@host, a host name, a DID or a URL.
func validUsername(s string) bool {
	if before, after, ok := strings.Cut(s, "://"); ok {
		return validURL(before, after) && len(s) <= maxURL
	}
	return validName(s)
}

// validURL reports whether before + "://" + after is an http or https URL in printable ASCII.
// The names of sources, each with a colon, may precede the scheme.
func validURL(before, after string) bool {
	colon := strings.LastIndexByte(before, ':')
	scheme := before[colon+1:]
	if colon >= 0 && !validName(before[:colon]) || !strings.EqualFold(scheme, "http") && !strings.EqualFold(scheme, "https") || after == "" {
		return false
	}
	return !strings.ContainsFunc(after, func(r rune) bool { return r <= ' ' || r > '~' || strings.ContainsRune("\"<>\\^`{|}", r) })
}

func validName(s string) bool {
	if s == "" || len(s) > maxUsername {
		return false
	}
	switch s[strings.LastIndexByte(s, ':')+1:] {
	case ".", "..": // in the path of a request they would be another path
		return false
	}
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' {
			continue
		}
		if i == 0 && c == '@' || !strings.ContainsRune("_-.:@", rune(c)) {
			return false
		}
	}
	return true
}
