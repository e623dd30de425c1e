package main

import (
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// Both contestants answer alike, and only good answers are measured.
func TestContestantsAnswerAlike(t *testing.T) {
	s, err := newService()
	if err != nil {
		t.Fatal(err)
	}
	defer s.close()
	for _, c := range cases {
		body, err := s.body(c.path)
		if err != nil {
			t.Fatal(err)
		}
		for _, addr := range []string{s.ours, s.bare(c.path, body)} {
			m, err := load(addr, c.path, s.key, len(body), 2, time.Millisecond)
			if err != nil || m.rate <= 0 || m.p99 <= 0 {
				t.Errorf("%s: %+v, %v", c.name, m, err)
			}
		}
	}
	if _, err := load(s.ours, "/v1/account/me", "no key", 1, 1, time.Millisecond); err == nil {
		t.Error("an answer of 401 was counted")
	}
}
