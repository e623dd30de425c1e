package inprocess

import (
	"bytes"
	"io"
	"net/http"
	"strconv"
)

// Transport is an http.RoundTripper that calls Handler on the caller's goroutine. It ignores the
// request's host. Handler must return when the request's context ends.
type Transport struct{ Handler http.Handler }

func (t Transport) RoundTrip(req *http.Request) (resp *http.Response, err error) {
	body := req.Body
	if body == nil {
		body = http.NoBody
	}
	defer body.Close()
	ctx := req.Context()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	// A server's request has only the path and query in its URL, and the host from the header.
	in := req.Clone(ctx)
	in.Body = body
	in.RequestURI = req.URL.RequestURI()
	if in.Method == "" {
		in.Method = http.MethodGet // as the client's side has it
	}
	if in.Host == "" {
		in.Host = req.URL.Host
	}
	w := &response{header: make(http.Header)}
	defer func() {
		if v := recover(); v != nil && v != http.ErrAbortHandler {
			panic(v)
		} else if v != nil {
			resp, err = nil, io.ErrUnexpectedEOF
		}
		if ctx.Err() != nil {
			resp, err = nil, ctx.Err()
		}
	}()
	t.Handler.ServeHTTP(w, in)
	return w.result(req), nil
}

// response collects what a handler writes.
type response struct {
	header http.Header
	sent   http.Header // as it was when the status was written
	code   int
	body   bytes.Buffer
}

func (w *response) Header() http.Header { return w.header }

func (w *response) WriteHeader(code int) {
	if w.code == 0 {
		w.code, w.sent = code, w.header.Clone()
	}
}

func (w *response) Write(b []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	return w.body.Write(b)
}

// result returns the response for the client. A body shorter than its Content-Length ends with
// io.ErrUnexpectedEOF, as if the connection had broken.
func (w *response) result(req *http.Request) *http.Response {
	w.WriteHeader(http.StatusOK)
	length := int64(w.body.Len())
	var body io.Reader = &w.body
	if n, err := strconv.ParseInt(w.sent.Get("Content-Length"), 10, 64); err == nil && n > length {
		length = n
		body = io.MultiReader(body, brokenReader{})
	}
	return &http.Response{
		Status:     strconv.Itoa(w.code) + " " + http.StatusText(w.code),
		StatusCode: w.code,
		Proto:      "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header:        w.sent,
		Body:          io.NopCloser(body),
		ContentLength: length,
		Request:       req,
	}
}

type brokenReader struct{}

func (brokenReader) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }
