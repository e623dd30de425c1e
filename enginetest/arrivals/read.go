package arrivals

import (
	"bufio"
	"bytes"
	"cmp"
	"compress/gzip"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"
)

// Bounds of a recording.
const (
	maxAccounts    = 1_000_000
	maxPosts       = 100_000_000
	MaxLength      = 10 * 366 * 24 * time.Hour
	maxUnixSeconds = 7_000_000_000 // in 2191; its nanoseconds fit into 63 bits
)

// Recording has the times of the posts of 1 to 1,000,000 accounts, up to 100 million posts. Read and
// Generate return one. A Recording made by hand must obey the bounds of the fields: see Validate.
type Recording struct {
	// Name is a title without spaces.
	Name string
	// Start is when the recording begins. The recording begins in 1970 or later and ends in 2190 or
	// earlier.
	Start time.Time
	// Length is the length of the recording, up to ten years.
	Length time.Duration
	// Posts has the times of each account's posts, 0 to Length after Start, earliest first. Account
	// i has the i-th handle of enginetest.AccountNames.
	Posts [][]time.Duration
}

// Open reads the arrivals file at path: see Read. If there is no such file, the error wraps
// fs.ErrNotExist.
func Open(path string) (*Recording, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("arrivals: %w", err)
	}
	defer f.Close()
	a, err := read(f)
	if err != nil {
		return nil, fmt.Errorf("arrivals %s: %w", path, err)
	}
	return a, nil
}

// Read reads an arrivals file, plain or gzipped:
//
//	# arrivals v1 name=… accounts=N events=M start=UNIX end=UNIX
//	# a comment
//	0	1434327193
//	1	1434327193.25
//
// Each line after the first has an account, 0 to N-1, a tab, and Unix seconds between start and end.
// The lines are in order of time. Seconds may have decimals; Read keeps nanoseconds. It ignores
// other key=value fields of the first line. Errors name the line and the allowed values. Read uses
// at most about 40 bytes of memory for each post that it reads and 32 for each account, even if the
// first line promises more.
func Read(r io.Reader) (*Recording, error) {
	a, err := read(r)
	if err != nil {
		return nil, fmt.Errorf("arrivals: %w", err)
	}
	return a, nil
}

func read(r io.Reader) (*Recording, error) {
	in := bufio.NewReader(r)
	if magic, _ := in.Peek(2); !bytes.Equal(magic, []byte{0x1f, 0x8b}) {
		return parse(in)
	}
	z, err := gzip.NewReader(in)
	if err != nil {
		return nil, err
	}
	return parse(z)
}

// Arrival is one post of a recording.
type Arrival struct {
	At      time.Duration // since the start
	Account int32         // its index
	Index   int32         // among the account's posts
}

func parse(r io.Reader) (*Recording, error) {
	lines := bufio.NewScanner(r) // lines of up to 64 KiB
	if !lines.Scan() {
		return nil, fmt.Errorf("line 1: %w", cmp.Or(lines.Err(), io.ErrUnexpectedEOF))
	}
	h, err := parseHeader(lines.Text())
	if err != nil {
		return nil, fmt.Errorf("line 1: %w", err)
	}
	var events []Arrival
	var latest time.Duration
	at := 2
	for ; lines.Scan(); at++ {
		line := lines.Text()
		if strings.HasPrefix(line, "#") {
			continue
		}
		account, seconds, _ := strings.Cut(line, "\t")
		i, err := strconv.ParseUint(account, 10, 32)
		if err != nil || i >= uint64(h.accounts) {
			return nil, fmt.Errorf("line %d: account %.40q is not allowed: want 0 to %d", at, account, h.accounts-1)
		}
		unix, ok := parseUnix(seconds)
		t := unix - h.start
		if !ok || t < 0 || t > h.length {
			return nil, fmt.Errorf("line %d: time %.40q is not allowed: want Unix seconds from start to end, %s to %s",
				at, seconds, formatUnix(h.start), formatUnix(h.start+h.length))
		}
		if t < latest {
			return nil, fmt.Errorf("line %d: time %.40q is not allowed: want lines sorted by time", at, seconds)
		}
		if len(events) == h.events {
			return nil, fmt.Errorf("line %d: one event too many: want %d, as line 1 says", at, h.events)
		}
		latest = t
		events = append(events, Arrival{At: t, Account: int32(i)})
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("line %d: %w", at, err)
	}
	if len(events) < h.events {
		return nil, fmt.Errorf("line %d: it ends after %d events: want %d, as line 1 says", at, len(events), h.events)
	}
	return &Recording{Name: h.name, Start: time.Unix(0, int64(h.start)).UTC(), Length: h.length, Posts: byAccount(events, h.accounts)}, nil
}

// byAccount sorts posts by account, into one array.
func byAccount(events []Arrival, accounts int) [][]time.Duration {
	counts := make([]int, accounts)
	for _, e := range events {
		counts[e.Account]++
	}
	all := make([]time.Duration, len(events))
	posts := make([][]time.Duration, accounts)
	for i, n := range counts {
		posts[i], all = all[:0:n], all[n:]
	}
	for _, e := range events {
		posts[e.Account] = append(posts[e.Account], e.At)
	}
	return posts
}

// header is a file's first line. Times are Unix nanoseconds.
type header struct {
	name             string
	accounts, events int
	start, length    time.Duration
}

func parseHeader(line string) (header, error) {
	const magic = "# arrivals v1 "
	if !strings.HasPrefix(line, magic) {
		return header{}, fmt.Errorf("%.40q is not allowed: want %q and its fields", line, magic)
	}
	fields := make(map[string]string)
	for _, field := range strings.Fields(line[len(magic):]) {
		key, value, ok := strings.Cut(field, "=")
		if _, twice := fields[key]; !ok || twice {
			return header{}, fmt.Errorf("field %.40q is not allowed: want key=value, each key once", field)
		}
		fields[key] = value
	}
	h := header{name: fields["name"]}
	var err error
	if h.accounts, err = count(fields, "accounts", 1, maxAccounts); err != nil {
		return h, err
	}
	if h.events, err = count(fields, "events", 0, maxPosts); err != nil {
		return h, err
	}
	start, ok := parseUnix(fields["start"])
	end, ok2 := parseUnix(fields["end"])
	if !ok || !ok2 || end <= start || end-start > MaxLength {
		return h, fmt.Errorf("start %.40q and end %.40q are not allowed: want Unix seconds, the end later and at most ten years later", fields["start"], fields["end"])
	}
	h.start, h.length = start, end-start
	return h, nil
}

func count(fields map[string]string, key string, least, most int) (int, error) {
	n, err := strconv.ParseUint(fields[key], 10, 32)
	if err != nil || n < uint64(least) || n > uint64(most) {
		return 0, fmt.Errorf("%s %.40q is not allowed: want %d to %d", key, fields[key], least, most)
	}
	return int(n), nil
}

// parseUnix parses Unix seconds: digits, and a fraction that it cuts to nanoseconds. Unlike
// floating-point parsing it is exact.
func parseUnix(s string) (time.Duration, bool) {
	whole, fraction, point := strings.Cut(s, ".")
	seconds, err := strconv.ParseUint(whole, 10, 64)
	if err != nil || seconds >= maxUnixSeconds || point && fraction == "" {
		return 0, false
	}
	nanos, unit := time.Duration(0), time.Second
	for _, digit := range []byte(fraction) {
		if digit < '0' || digit > '9' {
			return 0, false
		}
		unit /= 10
		nanos += time.Duration(digit-'0') * unit
	}
	return time.Duration(seconds)*time.Second + nanos, true
}
