package deliver

import (
	"encoding/json"
	"fmt"
)

// endpointRecord is an Endpoint with plain strings for its secrets. In JSON its fields replace the
// embedded fields with the same names. The embedded fields would be encoded as ***.
type endpointRecord struct {
	Endpoint
	Secret     string
	OldSecrets []oldSecretRecord `json:",omitempty"`
	Headers    []headerRecord    `json:",omitempty"`
}

type oldSecretRecord struct {
	OldSecret
	Secret string
}

type headerRecord struct{ Name, Value string }

// EncodeEndpoint encodes all fields of an endpoint for a store, including secrets, as a JSON
// object with the names of the Go fields. Texts must be UTF-8.
func EncodeEndpoint(e Endpoint) ([]byte, error) {
	r := endpointRecord{Endpoint: e, Secret: string(e.Secret)}
	for _, o := range e.OldSecrets {
		r.OldSecrets = append(r.OldSecrets, oldSecretRecord{o, string(o.Secret)})
	}
	for _, h := range e.Headers {
		r.Headers = append(r.Headers, headerRecord{h.Name, string(h.Value)})
	}
	b, err := json.Marshal(&r)
	if err != nil {
		return nil, fmt.Errorf("deliver: endpoint %s not encoded: %w", e.ID, err)
	}
	return b, nil
}

// DecodeEndpoint decodes the result of EncodeEndpoint. Fields that are missing are zero.
func DecodeEndpoint(b []byte) (Endpoint, error) {
	var r endpointRecord
	if err := json.Unmarshal(b, &r); err != nil {
		return Endpoint{}, fmt.Errorf("deliver: endpoint not decoded: %w", err)
	}
	e := r.Endpoint
	e.Secret = Secret(r.Secret)
	for _, o := range r.OldSecrets {
		e.OldSecrets = append(e.OldSecrets, OldSecret{Secret(o.Secret), o.Until})
	}
	for _, h := range r.Headers {
		e.Headers = append(e.Headers, Header{h.Name, Secret(h.Value)})
	}
	return e, nil
}
