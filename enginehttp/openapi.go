package enginehttp

import (
	"bytes"
	_ "embed"
)

// template is the OpenAPI 3.1 document for the segment "social".
//
//go:embed openapi.json
var template []byte

// document returns the OpenAPI document for a segment.
func document(segment string) []byte {
	return bytes.ReplaceAll(template, []byte(`"/v1/social/`), []byte(`"/v1/`+segment+`/`))
}
