package main

import (
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/streamwatch/streamwatch/secret"
)

// sourceFlag is a source: of a flag, -source name=kind,url,option,…, or of the configuration
// file.
type sourceFlag struct {
	from            string // where it is from, as an error calls it
	name, kind, url string
	token           secret.Value
	tokenIn         string  // the environment variable that has the token
	calls           float64 // a second, 0 for intervals
	burst           int     // calls at once, 0 for the default
	pds             bool
	probe, stream   bool
	probeRate       float64 // probes a second, 0 for a share of calls
	streamURL       string  // "" for the adapter's own
	rules           bool    // a stream of queries
	limit           float64 // dollars a day, 0 for none
	contact, memory string  // of feeds: see feed.Config
	allowPrivate    bool
	log             *slog.Logger
}

const sourceUsage = "watch one more platform, as `name=kind,url,option,…`, several times: accounts are then name:account. Kinds and their options: " +
	"bluesky,AppView,probe,stream or bluesky,PDS,pds,stream; mastodon,server,token=VARIABLE,probe,stream; remote,service,token=VARIABLE,stream; " +
	"x,token=VARIABLE,probe,stream,rules,limit=5: the Activity API, the filtered stream, and at most so many dollars a day, for probes cost, too; " +
	"feed,contact=ADDRESS,memory=DIRECTORY,stream=https://public/path,token=VARIABLE: who runs the service, where feeds are remembered, and where WebSub hubs reach it, with a secret of 32 bytes or more; fake,probe,stream. " +
	"For all: calls=5 spends so many calls a second where they find posts earliest, burst=1500 saves up to so many while no account is due, probe=0.5 makes that many probes a second beside them, stream=wss://… names the stream's address, " +
	"and token= the environment variable that has the token or API key. In the environment with spaces between several"

// sourceKinds are the options of each kind.
var sourceKinds = map[string]struct {
	options    []string
	url, token bool // required
}{
	"bluesky":  {options: []string{"burst", "calls", "pds", "probe", "stream"}},
	"mastodon": {options: []string{"burst", "calls", "token", "probe", "stream"}, url: true},
	"remote":   {options: []string{"burst", "calls", "token", "stream"}, url: true, token: true},
	"x":        {options: []string{"burst", "calls", "token", "probe", "stream", "rules", "limit"}, token: true},
	"feed":     {options: []string{"burst", "calls", "contact", "memory", "stream", "token"}},
	"fake":     {options: []string{"burst", "calls", "probe", "stream"}},
}

// kinds lists sourceKinds, for messages.
const kinds = "bluesky, mastodon, remote, x, feed or fake"

// maxCalls is the most calls a second, as of detect.Config, and at once.
const maxCalls = 1_000_000

// maxLimit is the most dollars a day, as of detect.Cost.
const maxLimit = 1_000_000_000

// defaultProbeRate is for sources whose accounts are polled at intervals.
const defaultProbeRate = 1.0

// sourceName is what streamwatch.Source.Name allows.
var sourceName = regexp.MustCompile(`^[a-z][a-z0-9_-]{0,31}$`)

// checkSourceName returns an error if a source cannot have that name.
func checkSourceName(name string) error {
	if !sourceName.MatchString(name) || name == "did" {
		return fmt.Errorf(`%.40q is not allowed: want a name of 1 to 32 lower-case letters, digits, "-" and "_", the first a letter, and not "did"`, name)
	}
	return nil
}

// parseSources parses the values of -source; called is what errors call the flag. Sources
// whose token is not set are in missing. The error has all that is wrong, and shows nothing
// of a value that may be secret.
func parseSources(called string, flags []string, env func(string) (string, bool)) (all []sourceFlag, missing []unset, err error) {
	var errs []error
	for _, flag := range flags {
		s, err := parseSource(called, flag, env)
		switch {
		case err != nil:
			errs = append(errs, err)
			continue
		case slices.ContainsFunc(all, func(o sourceFlag) bool { return o.name == s.name }):
			errs = append(errs, fmt.Errorf("%s %q is not allowed twice: want a name for each", called, s.name))
		case s.tokenIn != "" && s.token == "":
			missing = append(missing, unset{at: s.from + ": token", variable: s.tokenIn})
		}
		all = append(all, s)
	}
	return all, missing, errors.Join(errs...)
}

func parseSource(called, flag string, env func(string) (string, bool)) (sourceFlag, error) {
	name, rest, ok := strings.Cut(flag, "=")
	if !ok {
		return sourceFlag{}, fmt.Errorf("%s %.40q is not allowed: want name=kind,url,option,…", called, name)
	}
	if err := checkSourceName(name); err != nil {
		return sourceFlag{}, fmt.Errorf("%s %w", called, err)
	}
	s := sourceFlag{name: name, from: called + " " + name}
	if err := s.parse(strings.Split(rest, ","), env); err != nil {
		return s, fmt.Errorf("%s: %w", s.from, err)
	}
	return s, nil
}

func (s *sourceFlag) parse(fields []string, env func(string) (string, bool)) error {
	if err := s.setKind(fields[0]); err != nil {
		return err
	}
	fields = fields[1:]
	if len(fields) > 0 && strings.Contains(fields[0], "://") && !strings.Contains(fields[0], "=") {
		if err := s.setURL(fields[0]); err != nil {
			return err
		}
		fields = fields[1:]
	}
	for _, field := range fields {
		option, value, given := strings.Cut(field, "=")
		if err := s.option(option, value, given, env); err != nil {
			return err
		}
	}
	return s.check()
}

func (s *sourceFlag) setKind(kind string) error {
	if _, ok := sourceKinds[kind]; !ok {
		return fmt.Errorf("kind %.40q is not allowed: want %s", kind, kinds)
	}
	s.kind = kind
	return nil
}

func (s *sourceFlag) setURL(value string) error {
	if why := map[string]string{"fake": "a fake platform has none", "feed": "accounts are addresses of feeds"}[s.kind]; why != "" {
		return fmt.Errorf("url is not allowed: %s", why)
	}
	s.url = value
	return plainURL("url", value, "http", "https")
}

// option sets an option; given reports whether it has a value.
func (s *sourceFlag) option(option, value string, given bool, env func(string) (string, bool)) error {
	if options := sourceKinds[s.kind].options; !slices.Contains(options, option) {
		if strings.Contains(option, "://") {
			option = secret.Redacted // an address may have a password
		}
		return fmt.Errorf("option %.20q is not allowed: want one of %s of %s, after a url that begins with http:// or https://", option, strings.Join(options, ", "), s.kind)
	}
	return s.set(option, value, given, env)
}

// check compares the options with each other.
func (s *sourceFlag) check() error {
	kind := sourceKinds[s.kind]
	switch {
	case kind.url && s.url == "":
		return fmt.Errorf("url is missing: want where the %s is, such as %s=%s,https://example.com", map[string]string{"mastodon": "server", "remote": "service"}[s.kind], s.name, s.kind)
	case kind.token && s.tokenIn == "":
		return errors.New("token is missing: want token=VARIABLE, in a file token-env: VARIABLE, of the environment variable that has the API key of the other service, or X's bearer token")
	case s.pds && s.url == "":
		return errors.New("pds is not allowed without a url: want that of the PDS")
	case s.pds && s.probe:
		return errors.New("probe is not allowed with pds: a PDS has no profiles to ask for")
	case s.kind == "mastodon" && s.stream && s.tokenIn == "":
		return errors.New("stream is not allowed without token: want that of a user who follows the accounts")
	case s.kind == "feed" && s.stream != (s.streamURL != "" && s.tokenIn != ""):
		return errors.New("stream or token is not allowed: want both, the public address where hubs reach this service, such as stream=https://example.com/websub, and the environment variable of a secret")
	case s.streamURL != "" && (s.kind == "remote" || s.kind == "fake" || s.kind == "x"):
		return fmt.Errorf("stream with an address is not allowed: want stream alone for %s", s.kind)
	}
	if s.burst > 0 && s.calls == 0 {
		return errors.New("burst is not allowed without calls: want how many a second, such as calls=5")
	}
	if s.burst > 0 && s.probe && s.probeRate == 0 {
		return errors.New("burst is not allowed with probes that share calls: want how many a second they have beside them, such as probe=0.5")
	}
	if s.probe && s.probeRate == 0 && s.calls == 0 {
		s.probeRate = defaultProbeRate
	}
	return nil
}

// set sets an option that the kind has.
func (s *sourceFlag) set(option, value string, given bool, env func(string) (string, bool)) (err error) {
	switch option {
	case "pds":
		s.pds = true
		if given {
			return fmt.Errorf("pds with a value is not allowed: want pds alone, after the url of the PDS")
		}
	case "probe":
		if s.probe = true; given {
			s.probeRate, err = perSecond(option, value)
		}
	case "calls":
		s.calls, err = perSecond(option, value)
	case "burst":
		if s.burst, err = strconv.Atoi(value); err != nil || s.burst < 1 || s.burst > maxCalls {
			return fmt.Errorf("burst %.40q is not allowed: want 1 to %d calls", value, maxCalls)
		}
	case "stream":
		if s.stream = true; given {
			s.streamURL, err = value, plainURL(option, value, s.streamSchemes()...)
		}
	case "rules":
		if s.rules = true; given {
			return errors.New("rules with a value is not allowed: want rules alone")
		}
	case "limit":
		if s.limit, err = strconv.ParseFloat(value, 64); err != nil || !(s.limit > 0 && s.limit <= maxLimit) {
			return fmt.Errorf("limit %.40q is not allowed: want more than 0 dollars a day, and at most %d", value, maxLimit)
		}
	case "contact":
		if s.contact = value; value == "" {
			return errors.New("contact is empty: want contact=ADDRESS, whom publishers can ask")
		}
	case "memory":
		if s.memory = value; value == "" {
			return errors.New("memory is empty: want memory=DIRECTORY, where feeds are remembered")
		}
	case "token":
		s.tokenIn = value
		if s.token, err = secretOf(value, env); err != nil {
			return fmt.Errorf("token %w", err)
		}
	}
	return err
}

// streamSchemes returns the schemes of a stream's address. That of a feed is not a stream's:
// hubs call it.
func (s *sourceFlag) streamSchemes() []string {
	if s.kind == "feed" {
		return []string{"https"}
	}
	return []string{"ws", "wss"}
}

func perSecond(option, value string) (float64, error) {
	n, err := strconv.ParseFloat(value, 64)
	if err != nil || !(n > 0 && n <= maxCalls) {
		return 0, fmt.Errorf("%s %.40q is not allowed: want more than 0 and at most %d calls a second", option, value, maxCalls)
	}
	return n, nil
}

// plainURL checks an address. It must not have a password, which would be logged.
func plainURL(option, value string, schemes ...string) error {
	u, err := url.Parse(value)
	if err != nil || !slices.Contains(schemes, u.Scheme) || u.Host == "" || u.User != nil {
		return fmt.Errorf("%s is not allowed: want %s:// and a host, and no password in it", option, strings.Join(schemes, ":// or "))
	}
	return nil
}
