package upstream

import (
	"io"
	"sync"
)

const (
	unknownRoom = 16 << 10 // bytes for a body of unknown length, at first
	maxRoom     = 1 << 20  // bytes on the strength of a Content-Length, or to use again
)

// rooms are *[]byte that bodies were read into.
var rooms sync.Pool

// readBody is io.ReadAll into memory that was used before, or has the announced
// length, so that it need not grow. Compressed bodies come with an announced
// length of -1. There is a result also beside an error.
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

// Fill reads Body from an answer of the announced length, -1 for none: for adapters that
// make requests of their own. It reads most+1 bytes at most, so that a longer body can be
// told, and keeps what it has read also beside an error.
func (r *Response) Fill(body io.Reader, announced, most int64) error {
	r.Release()
	var err error
	r.room, err = readBody(io.LimitReader(body, most+1), announced)
	r.Body = *r.room
	return err
}

// Release lets the body's memory be used for another answer. Neither Body nor
// what shares its memory may be used afterwards. A Response need not be
// released.
func (r *Response) Release() {
	room := r.room
	r.Body, r.room = nil, nil
	if room != nil && cap(*room) <= maxRoom {
		rooms.Put(room)
	}
}
