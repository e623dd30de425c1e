package transfer

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"reflect"
	"time"

	"github.com/streamwatch/streamwatch/billing"
)

// ErrDiffer means that a copy differs from its source.
var ErrDiffer = errors.New("the copy differs from its source, which was changed meanwhile or is damaged: remove the copy and make it again")

// Sums are of rows, in whatever order.
type Sums struct {
	Rows   int64
	Amount billing.Credits // of what has an amount
	Hash   uint64          // sum of the hashes of the rows
}

// Line compares both stores.
type Line struct {
	What     string
	From, To Sums
}

// Equal reports whether the stores have the same.
func (l *Line) Equal() bool { return l.From == l.To }

// Lines of events that have parts of their own.
const (
	deliveriesLine = "deliveries"
	attemptsLine   = "attempts"
	reservedLine   = "reserved credits"
)

// Check reads both stores and compares them. It returns ErrDiffer if a line is not equal.
func Check(ctx context.Context, to, from Store, watch func(part Part, rows int)) ([]Line, error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	type result struct {
		sums map[string]Sums
		err  error
	}
	other := make(chan result, 1)
	go func() {
		sums, err := sumsOf(ctx, from, func(Part, int) {})
		if err != nil {
			stop()
		}
		other <- result{sums, err}
	}()
	copied, err := sumsOf(ctx, to, watch)
	if err != nil {
		stop()
	}
	original := <-other
	if original.err != nil && !errors.Is(original.err, context.Canceled) {
		err = original.err
	}
	if err == nil {
		err = original.err
	}
	if err != nil {
		return nil, fmt.Errorf("the copy is not checked, run it again: %w", err)
	}
	var lines []Line
	for part := range parts {
		names := []string{part.String()}
		switch part {
		case Events:
			names = append(names, deliveriesLine, attemptsLine)
		case Owners:
			names = append(names, reservedLine)
		}
		for _, name := range names {
			line := Line{name, original.sums[name], copied[name]}
			if lines = append(lines, line); !line.Equal() {
				err = ErrDiffer
			}
		}
	}
	return lines, err
}

// sumsOf reads a whole store, and returns its sums by line.
func sumsOf(ctx context.Context, s Store, watch func(Part, int)) (map[string]Sums, error) {
	sums := make(map[string]Sums)
	var buf bytes.Buffer
	add := func(what string, amount billing.Credits, row ...any) {
		buf.Reset()
		for _, v := range row {
			encode(&buf, reflect.ValueOf(v))
		}
		hash := sha256.Sum256(buf.Bytes())
		had := sums[what]
		sums[what] = Sums{had.Rows + 1, had.Amount + amount, had.Hash + binary.BigEndian.Uint64(hash[:])}
	}
	for at := (Place{}); at.Part < parts; {
		rows, next, last, err := s.Read(ctx, at)
		if err != nil {
			return nil, err
		}
		for _, row := range rows {
			addRow(add, at.Part.String(), row)
		}
		watch(parts, len(rows))
		if at.After = next; last {
			at = Place{Part: at.Part + 1}
		}
	}
	return sums, ctx.Err()
}

func addRow(add func(what string, amount billing.Credits, row ...any), what string, row any) {
	switch row := row.(type) {
	case *Event:
		add(what, 0, row.Event)
		for i := range row.Deliveries {
			d := &row.Deliveries[i]
			add(deliveriesLine, 0, row.ID, i, d.ID, d.EndpointID, d.State, d.Attempts, d.Uncounted, d.Waited.Milliseconds(), d.EndpointDeleted, d.Due)
			for k := range d.Log {
				add(attemptsLine, 0, d.ID, k, d.Log[k])
			}
		}
	case *Owner:
		add(what, row.Available+row.Reserved, row)
		add(reservedLine, row.Reserved, row.Owner)
	case *Entry:
		add(what, row.Amount, row)
	case *Total:
		add(what, row.Total, row)
	case *billing.Reservation:
		add(what, row.Amount, row)
	default:
		add(what, 0, row)
	}
}

// encode appends a value, so that equal values have equal bytes: times that are the same instant, as
// far as stores keep them, and empty and missing lists.
func encode(b *bytes.Buffer, v reflect.Value) {
	number := func(n int64) {
		var text [8]byte
		binary.BigEndian.PutUint64(text[:], uint64(n))
		b.Write(text[:])
	}
	switch v.Kind() {
	case reflect.String:
		number(int64(v.Len()))
		b.WriteString(v.String())
	case reflect.Int, reflect.Int64:
		number(v.Int())
	case reflect.Uint64:
		number(int64(v.Uint()))
	case reflect.Bool:
		b.WriteByte(map[bool]byte{true: 1}[v.Bool()])
	case reflect.Slice:
		number(int64(v.Len()))
		if v.Type().Elem().Kind() == reflect.Uint8 {
			b.Write(v.Bytes())
			return
		}
		for i := range v.Len() {
			encode(b, v.Index(i))
		}
	case reflect.Pointer:
		if !v.IsNil() {
			encode(b, v.Elem())
		}
	case reflect.Struct:
		if t, ok := v.Interface().(time.Time); ok {
			number(nanos(t))
			return
		}
		for i := range v.NumField() {
			encode(b, v.Field(i))
		}
	default:
		panic(fmt.Sprintf("transfer: a row with a %s", v.Type()))
	}
}

// nanos returns a time in Unix nanoseconds, or the nearest that there is.
func nanos(t time.Time) int64 {
	switch {
	case !t.After(time.Unix(0, math.MinInt64)):
		return math.MinInt64
	case t.After(time.Unix(0, math.MaxInt64)):
		return math.MaxInt64
	}
	return t.UnixNano()
}
