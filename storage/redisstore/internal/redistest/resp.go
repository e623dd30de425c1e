package redistest

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strconv"
)

// Limits on the values that a Proxy relays.
const (
	maxValue = 64 << 20 // bytes of one request or reply
	maxDepth = 16       // arrays in arrays
	maxLine  = 64 << 10 // bytes up to a line's end
)

var errProtocol = errors.New("redistest: not the Redis protocol")

// value is one request or reply.
type value struct {
	raw   []byte
	parts [][]byte // the strings and numbers in it, in order
}

// kind returns the type of the value, which is its first byte.
func (v *value) kind() byte { return v.raw[0] }

// readValue reads one complete value of RESP2 or RESP3.
func readValue(r *bufio.Reader) (value, error) {
	p := parser{r: r}
	if err := p.value(0); err != nil {
		return value{}, err
	}
	v := value{raw: p.raw}
	for _, at := range p.spans {
		v.parts = append(v.parts, p.raw[at[0]:at[1]:at[1]])
	}
	return v, nil
}

// parser parses a value, and copies the bytes it reads to raw.
type parser struct {
	r     *bufio.Reader
	raw   []byte
	spans [][2]int // of the strings in raw
}

func (p *parser) value(depth int) error {
	if depth > maxDepth {
		return fmt.Errorf("%w: values in values more than %d deep", errProtocol, maxDepth)
	}
	began := len(p.raw)
	if err := p.line(); err != nil {
		return err
	}
	kind, text := p.raw[began], p.raw[began+1:len(p.raw)-2]
	count := 1 // number of values that follow for each one announced
	switch kind {
	case '+', '-', ':', ',', '#', '_', '(':
		p.spans = append(p.spans, [2]int{began + 1, len(p.raw) - 2})
		return nil
	case '$', '=', '!':
		n, err := length(text)
		if err != nil || n < 0 {
			return err
		}
		return p.blob(n)
	case '*', '~', '>':
	case '%', '|':
		count = 2
	default:
		return fmt.Errorf("%w: no value begins with %q", errProtocol, kind)
	}
	n, err := length(text)
	if err != nil {
		return err
	}
	for range max(n, 0) * count {
		if err := p.value(depth + 1); err != nil {
			return err
		}
	}
	if kind == '|' { // an attribute belongs to the value after it
		return p.value(depth + 1)
	}
	return nil
}

// line reads a line including its CR LF. The line has at least one byte before that.
func (p *parser) line() error {
	began := len(p.raw)
	for {
		b, err := p.r.ReadByte()
		if err != nil {
			if len(p.raw) > 0 && err == io.EOF {
				err = io.ErrUnexpectedEOF
			}
			return err
		}
		p.raw = append(p.raw, b)
		if n := len(p.raw); b == '\n' && n >= began+3 && p.raw[n-2] == '\r' {
			return p.bounded(0)
		}
		if b == '\n' || len(p.raw)-began > maxLine {
			return fmt.Errorf("%w: a line without an end", errProtocol)
		}
	}
}

// blob reads n bytes and the CR LF after them.
func (p *parser) blob(n int) error {
	began := len(p.raw)
	if err := p.bounded(n + 2); err != nil {
		return err
	}
	for rest := n + 2; rest > 0; { // in steps: a length may be announced without data, and allocating it would be in vain
		step := min(rest, 64<<10)
		p.raw = append(p.raw, make([]byte, step)...)
		if _, err := io.ReadFull(p.r, p.raw[len(p.raw)-step:]); err != nil {
			if err == io.EOF {
				err = io.ErrUnexpectedEOF
			}
			return err
		}
		rest -= step
	}
	if string(p.raw[began+n:]) != "\r\n" {
		return fmt.Errorf("%w: a string without an end", errProtocol)
	}
	p.spans = append(p.spans, [2]int{began, began + n})
	return nil
}

// bounded returns an error if n more bytes make the value too long.
func (p *parser) bounded(n int) error {
	if len(p.raw)+n > maxValue {
		return fmt.Errorf("%w: a value of more than %d bytes", errProtocol, maxValue)
	}
	return nil
}

// length parses a count of bytes or values; -1 means null.
func length(text []byte) (int, error) {
	n, err := strconv.Atoi(string(text))
	if err != nil || n < -1 || n > maxValue {
		return 0, fmt.Errorf("%w: length %.20q", errProtocol, text)
	}
	return n, nil
}
