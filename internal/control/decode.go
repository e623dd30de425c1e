package control

import (
	"encoding/json"
	"sync"
)

// Decoder decodes the Data of records, and keeps the results of short ones: pages of records are
// read again and again. It is safe for concurrent use. Callers must not change what a result
// points to.
type Decoder[D any] struct {
	mu   sync.RWMutex
	kept map[string]D
}

// Decode returns the value that data is the JSON of.
func (d *Decoder[D]) Decode(data []byte) (D, error) {
	d.mu.RLock()
	v, ok := d.kept[string(data)]
	d.mu.RUnlock()
	if ok {
		return v, nil
	}
	return d.read(data)
}

func (d *Decoder[D]) read(data []byte) (v D, err error) {
	if err := json.Unmarshal(data, &v); err != nil || len(data) > 4096 {
		return v, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.kept == nil || len(d.kept) >= 1000 {
		d.kept = map[string]D{}
	}
	d.kept[string(data)] = v
	return v, nil
}
