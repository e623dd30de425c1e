package latency

import (
	"encoding/binary"
	"errors"
	"time"
)

// MarshalBinary encodes the counts, in some two bytes for each bucket that is not empty. It returns no
// bytes for an empty snapshot, and never an error.
func (s Snapshot) MarshalBinary() ([]byte, error) {
	if s.r == nil {
		return nil, nil
	}
	b := binary.AppendUvarint(nil, uint64(s.r.micros))
	b = binary.AppendUvarint(b, uint64(s.r.max))
	next := 0
	for i, n := range s.r.counts {
		if n > 0 {
			b = binary.AppendUvarint(binary.AppendUvarint(b, uint64(i-next)), n)
			next = i + 1
		}
	}
	return b, nil
}

var errBinary = errors.New("latency: not the binary form of a Snapshot")

// UnmarshalBinary decodes what MarshalBinary has encoded.
func (s *Snapshot) UnmarshalBinary(data []byte) error {
	if len(data) == 0 {
		*s = Snapshot{}
		return nil
	}
	read := func() (n uint64) {
		n, size := binary.Uvarint(data)
		if size <= 0 {
			n, size = 1<<63, len(data) // which no field may have
		}
		data = data[size:]
		return n
	}
	r := &record{micros: int64(read()), max: time.Duration(read())}
	if r.micros < 0 || r.max < 0 || r.max > longest {
		return errBinary
	}
	for i := uint64(0); len(data) > 0; i++ {
		skip, n := read(), read()
		if i += min(skip, buckets); i >= buckets || n == 0 || n >= 1<<63-r.count {
			return errBinary
		}
		r.counts[i] = n
		r.count += n
	}
	if r.count == 0 {
		return errBinary
	}
	*s = Snapshot{r}
	return nil
}
