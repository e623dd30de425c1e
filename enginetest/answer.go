package enginetest

import (
	"crypto/sha256"
	"encoding/binary"
	"io"
	"maps"
	"net/http"
	"time"
)

// Answer is the answer of a Receiver. The zero value is an empty 200 without delay.
type Answer struct {
	Status int           // HTTP status, 200 to 599; 0 means 200
	Delay  time.Duration // wait before the answer
	Body   string
	Header http.Header // added to the answer, such as Retry-After
}

// Always gives every request the same answer.
func Always(a Answer) func(AttemptInfo) Answer {
	return func(AttemptInfo) Answer { return a }
}

// FailFirst returns a function for ReceiverConfig.Answer. It answers 500 to the first attempt of a
// share of the deliveries, 0 to 1, and 200 to all else. The seed and the delivery id decide which.
func FailFirst(share float64, seed uint64) func(AttemptInfo) Answer {
	return func(info AttemptInfo) Answer {
		if info.N == 1 && chance(seed, info.DeliveryID) < share {
			return Answer{Status: http.StatusInternalServerError}
		}
		return Answer{}
	}
}

// chance returns a number from 0 up to but not including 1. It depends only on its arguments.
func chance(seed uint64, id string) float64 {
	sum := sha256.Sum256(append(binary.BigEndian.AppendUint64(nil, seed), id...))
	return float64(binary.BigEndian.Uint64(sum[:])>>11) / (1 << 53)
}

func (a *Answer) status() int {
	if a.Status == 0 {
		return http.StatusOK
	}
	return a.Status
}

func (a *Answer) accepts() bool { return a.status()/100 == 2 }

func (a *Answer) write(w http.ResponseWriter) {
	maps.Copy(w.Header(), a.Header)
	w.WriteHeader(a.status())
	io.WriteString(w, a.Body)
}
