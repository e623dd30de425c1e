package enginehttp_test

import (
	"context"
	"encoding/json"
	"net/http"
	"testing"

	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
)

// checkAnswer checks an answer against the document.
func checkAnswer(t testing.TB, r *http.Request, a answer) {
	t.Helper()
	if a.status >= 400 {
		var e struct{ Error, Detail string }
		if err := json.Unmarshal([]byte(a.body), &e); err != nil || e.Error == "" || e.Error != e.Detail {
			t.Errorf("%s %s: %d %s: want error and detail, of the same text", r.Method, r.URL.Path, a.status, a.body)
		}
	}
	if r.Pattern == "" || r.Pattern == "GET "+stream {
		return // no route, or in the other document
	}
	doc := document()
	method, path := documentPath(r.Pattern)
	item := doc.Paths.Value(path)
	if item == nil || item.GetOperation(method) == nil {
		t.Errorf("%s: not in the document", r.Pattern)
		return
	}
	in := &openapi3filter.ResponseValidationInput{
		RequestValidationInput: &openapi3filter.RequestValidationInput{Request: r, Route: &routers.Route{Spec: doc, Path: path, PathItem: item, Method: method, Operation: item.GetOperation(method)}},
		Status:                 a.status, Header: a.header,
		Options: &openapi3filter.Options{IncludeResponseStatus: true},
	}
	in.SetBodyBytes([]byte(a.body))
	if err := openapi3filter.ValidateResponse(context.Background(), in); err != nil {
		t.Errorf("%s %s: %d is not as the document has it: %v\n%s", r.Method, r.URL.Path, a.status, err, a.body)
	}
}
