package upstream

import (
	"io"
	"sync"
)

const (
	unknownRoom = 16 << 10 // initial buffer for a body of unknown length, in bytes
	maxRoom     = 1 << 20  // largest initial buffer, and largest buffer kept for reuse, in bytes
)

// rooms holds the buffers (*[]byte) of released bodies for reuse.
var rooms sync.Pool

// readBody reads all of r, like io.ReadAll, into a buffer from rooms or a new one. announced is
// the expected length in bytes, or -1 if unknown, for example for a compressed body. On an
// error, the buffer has the bytes read before the error.
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

// Fill reads body into r.Body. It is for adapters that make their own requests. announced is
// the Content-Length, or -1 if unknown. Fill reads at most most+1 bytes, so a Body longer than
// most means that body is too long. On an error, Body has the bytes read before the error.
func (r *Response) Fill(body io.Reader, announced, most int64) error {
	r.Release()
	var err error
	r.room, err = readBody(io.LimitReader(body, most+1), announced)
	r.Body = *r.room
	return err
}

// Release makes the memory of Body available for another answer. After Release, do not use Body
// or anything that shares its memory. Release is optional: without it, the memory is
// garbage-collected.
func (r *Response) Release() {
	room := r.room
	r.Body, r.room = nil, nil
	if room != nil && cap(*room) <= maxRoom {
		rooms.Put(room)
	}
}
