package enginehttp

import (
	"bytes"
	_ "embed"
)

// openAPI is the OpenAPI 3.1 document for the segment "social".
//
//go:embed openapi.json
var openAPI []byte

// asyncAPI is the AsyncAPI 3.1 document of the WebSocket for the segment "social".
//
//go:embed asyncapi.json
var asyncAPI []byte

// document returns an endpoint that answers with a document for a segment.
func document(template []byte, segment string) func(*call) (reply, error) {
	text := bytes.ReplaceAll(template, []byte(`"/v1/social/`), []byte(`"/v1/`+segment+`/`))
	return func(*call) (reply, error) { return reply{text: text}, nil }
}
