package upstream

import (
	"io"
	"sync"
)

const (
	unknownRoom = 16 << 10 // bytes that a body of unknown length gets at first
	maxRoom     = 1 << 20  // most bytes that a Content-Length gets at first, or that are kept
)

// rooms has the *[]byte of released bodies, to read others into.
var rooms sync.Pool

// readBody is io.ReadAll into memory that was used before, or that has the announced
// length, so that it need not grow. The announced length of a compressed body is -1.
// With an error it returns what was read before it.
func readBody(r io.Reader, announced int64) (*[]byte, error) {
	want := int64(unknownRoom)
	if announced >= 0 {
		want = min(announced+1, maxRoom) // one more for the read that finds the end
	}
	room, _ := rooms.Get().(*[]byte)
	if room == nil || announced >= 0 && int64(cap(*room)) < want {
		room = new([]byte)
		*room = make([]byte, 0, want)
	}
	b := (*room)[:0]
	for {
		n, err := r.Read(b[len(b):cap(b)])
		b = b[:len(b)+n]
		if err == nil && len(b) == cap(b) {
			b = append(b, 0)[:len(b)]
		}
		if err != nil {
			*room = b
			if err == io.EOF {
				err = nil
			}
			return room, err
		}
	}
}

// Fill sets Body to what it reads from body, whose announced length is -1 if unknown. It
// is for adapters that make requests of their own. It reads at most most+1 bytes, so that
// the caller can tell a longer body, and with an error Body is what was read before it.
func (r *Response) Fill(body io.Reader, announced, most int64) error {
	r.Release()
	var err error
	r.room, err = readBody(io.LimitReader(body, most+1), announced)
	r.Body = *r.room
	return err
}

// Release lets the body's memory be used for another answer. Neither Body nor
// anything that shares its memory may be used afterwards. A Response need not be
// released: its memory is then garbage-collected.
func (r *Response) Release() {
	room := r.room
	r.Body, r.room = nil, nil
	if room != nil && cap(*room) <= maxRoom {
		rooms.Put(room)
	}
}
