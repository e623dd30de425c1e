package enginehttp

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/streamwatch/streamwatch/billing"
)

// buffers are reused for encoding, except those that grew beyond maxKeptBuffer bytes.
var buffers = sync.Pool{New: func() any { return new(bytes.Buffer) }}

const maxKeptBuffer = 64 << 10

// encoded returns the answer with its value encoded as text, to send it more than once.
func (a reply) encoded() reply {
	if a.status == 0 {
		a.status = http.StatusOK
	}
	if a.text == nil && a.status != http.StatusNoContent {
		var buf bytes.Buffer
		encode(&buf, a.value)
		a.text, a.value = buf.Bytes(), nil
	}
	return a
}

// appended is a value that appends its JSON.
type appended func(b []byte) []byte

// encode appends value as JSON. It panics if value cannot be encoded.
func encode(buf *bytes.Buffer, value any) {
	if value, ok := value.(appended); ok {
		buf.Write(value(buf.AvailableBuffer()))
		return
	}
	enc := json.NewEncoder(buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(value); err != nil {
		panic(err)
	}
}

// send writes a 2xx answer and flushes it. After an error the client may have received a part of
// it. If the value cannot be encoded, send panics before it writes anything.
func (x *exchange) send(a reply, cost billing.Credits) error {
	header := x.Header()
	if cost > 0 {
		header.Set("X-Credits-Used", creditText(cost))
	}
	if a.version > 0 {
		header.Set("ETag", etag(a.version))
	}
	status := a.status
	if status == 0 {
		status = http.StatusOK
	}
	if status == http.StatusNoContent {
		x.WriteHeader(status)
		return x.flush()
	}
	text := a.text
	if text == nil {
		buf := buffers.Get().(*bytes.Buffer)
		defer func() {
			if buf.Cap() <= maxKeptBuffer {
				buffers.Put(buf)
			}
		}()
		buf.Reset()
		encode(buf, a.value)
		text = buf.Bytes()
	}
	header.Set("Content-Type", "application/json")
	header.Set("Content-Length", strconv.Itoa(len(text)))
	x.WriteHeader(status)
	if _, err := x.Write(text); err != nil {
		return err
	}
	return x.flush()
}

// flush sends buffered output to the connection, to detect a write error before the request is
// charged.
func (x *exchange) flush() error {
	if err := http.NewResponseController(x.ResponseWriter).Flush(); !errors.Is(err, http.ErrNotSupported) {
		return err
	}
	return nil
}

// fail sends the answer for an error, and flushes it: what the request still has to do in the store
// must not delay it.
func (x *exchange) fail(err error) {
	f := failureOf(err)
	x.cause, x.theirs = f.cause, f.theirs
	header := x.Header()
	if f.retry > 0 {
		header.Set("Retry-After", strconv.FormatInt(int64((f.retry+time.Second-1)/time.Second), 10))
	}
	body := map[string]any{"error": f.text, "detail": f.text}
	maps.Copy(body, f.more)
	var text bytes.Buffer
	encode(&text, body)
	header.Set("Content-Type", "application/json")
	header.Set("Content-Length", strconv.Itoa(text.Len()))
	x.WriteHeader(f.status)
	x.Write(text.Bytes())
	x.flush()
}
