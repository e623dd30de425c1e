package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
)

// WriteJSON writes the figures as one JSON object, whose bytes follow from the record.
func (r *Report) WriteJSON(w io.Writer) error {
	b, err := json.MarshalIndent(r, "", "  ")
	if err == nil {
		_, err = w.Write(append(b, '\n'))
	}
	if err != nil {
		return fmt.Errorf("report: %w", err)
	}
	return nil
}

// Is reports whether published, which WriteJSON is said to have written, is what follows
// from the record; white space does not matter.
func (r *Report) Is(published []byte) (bool, error) {
	var own, theirs bytes.Buffer
	if err := r.WriteJSON(&own); err != nil {
		return false, err
	}
	if err := json.Compact(&theirs, published); err != nil {
		return false, fmt.Errorf("report: what was published is not JSON: %w", err)
	}
	compact := new(bytes.Buffer)
	if err := json.Compact(compact, own.Bytes()); err != nil {
		return false, fmt.Errorf("report: %w", err)
	}
	return bytes.Equal(compact.Bytes(), theirs.Bytes()), nil
}
