package enginehttp

import (
	"bytes"
	_ "embed"
)

// template describes the surface with the segment "social": OpenAPI 3.1.
//
//go:embed openapi.json
var template []byte

// document is the description with the paths that the handler has.
func document(segment string) []byte {
	return bytes.ReplaceAll(template, []byte(`"/v1/social/`), []byte(`"/v1/`+segment+`/`))
}
