package redisstore

import (
	"encoding/binary"
	"errors"
	"time"
)

// recordForm is the first byte of an encoded record: the version of its encoding. A new encoding
// gets a new number, and old records stay readable.
const recordForm = 1

// encoder appends values; decoder reads them in the same order.
type encoder []byte

func newEncoder(size int) encoder { return append(make(encoder, 0, size), recordForm) }

func (e *encoder) text(s string) {
	*e = binary.AppendUvarint(*e, uint64(len(s)))
	*e = append(*e, s...)
}

func (e *encoder) number(n int64)      { *e = binary.AppendVarint(*e, n) }
func (e *encoder) instant(t time.Time) { *e = binary.BigEndian.AppendUint64(*e, uint64(nanos(t))) }

var errRecord = errors.New("redisstore: stored record is damaged, or of a newer version")

// decoder reads values. It keeps the first error, and returns zero values after it.
type decoder struct {
	rest string
	err  error
}

func newDecoder(s string) *decoder {
	d := &decoder{rest: s}
	d.form()
	return d
}

// keep keeps an error if it is the first.
func (d *decoder) keep(err error) {
	if d.err == nil {
		d.err = err
	}
}

// form reads the version of the encoding of what follows.
func (d *decoder) form() {
	if d.take(1) != string(rune(recordForm)) {
		d.keep(errRecord)
	}
}

func (d *decoder) take(n uint64) string {
	if d.err != nil || n > uint64(len(d.rest)) {
		d.err = errRecord
		return ""
	}
	s := d.rest[:n]
	d.rest = d.rest[n:]
	return s
}

func (d *decoder) uvarint() uint64 {
	var n uint64
	for shift := 0; shift < 70; shift += 7 {
		b := d.take(1)
		if d.err != nil {
			return 0
		}
		n |= uint64(b[0]&0x7f) << shift
		if b[0] < 0x80 {
			return n
		}
	}
	d.err = errRecord
	return 0
}

func (d *decoder) text() string { return d.take(d.uvarint()) }

func (d *decoder) number() int64 {
	n := d.uvarint()
	return int64(n>>1) ^ -int64(n&1) // the zig-zag encoding of binary.AppendVarint
}

func (d *decoder) instant() time.Time {
	s := d.take(8)
	if d.err != nil {
		return time.Time{}
	}
	return fromNanos(int64(binary.BigEndian.Uint64([]byte(s))))
}

// The following are read as scripts write them: see text.go. digits reads n hexadecimal digits.

func (d *decoder) digits(n uint64) uint64 {
	v, err := fromHex(d.take(n))
	d.keep(err)
	return v
}

func (d *decoder) stamp(s string) time.Time {
	t, err := fromStamp(s)
	d.keep(err)
	return t
}

func (d *decoder) field() (text string) {
	if d.err == nil {
		text, d.rest, d.err = cutField(d.rest)
	}
	return text
}

// name reads a field with an escaped name.
func (d *decoder) name() string {
	name, err := unescaped(d.field())
	d.keep(err)
	return name
}

// decimal reads a field with a number.
func (d *decoder) decimal() int64 {
	n, err := decimal(d.field())
	d.keep(err)
	return n
}
