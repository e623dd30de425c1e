package sqlite_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/fleet"
	"github.com/streamwatch/streamwatch/storage/sqlite"
	"github.com/streamwatch/streamwatch/storage/storetest"
)

// The totals are those of the answers that are there, however others went: forgotten when
// they were over, made anew, displaced by their owner's, erased.
func TestTotalsOfAnswers(t *testing.T) {
	t.Parallel()
	clock := storetest.NewClock()
	path := newFile(t)
	s, err := sqlite.Open(t.Context(), path, sqlite.Options{Now: clock.Now})
	must(t, err)
	defer s.Close(t.Context())
	answer := func(owner, id, text string) {
		t.Helper()
		q := fleet.Request{Owner: owner, ID: id, Asked: "x", By: "a", Lease: time.Minute}
		had, err := s.Answers().Begin(t.Context(), q)
		must(t, err)
		if had != nil {
			t.Fatalf("%s has an answer", id)
		}
		must(t, s.Answers().Finish(t.Context(), q, []byte(text)))
	}
	db := raw(t, path)
	defer db.Close()
	totals := func(when string, count int) {
		t.Helper()
		var told, there [2]int
		must(t, db.QueryRow(`SELECT answers, answer_bytes FROM totals`).Scan(&told[0], &told[1]))
		must(t, db.QueryRow(`SELECT count(text), coalesce(sum(length(text)), 0) FROM answers`).Scan(&there[0], &there[1]))
		if told != there || there[0] != count {
			t.Errorf("%s: totals of %d answers and %d bytes, there are %d and %d; want %d answers", when, told[0], told[1], there[0], there[1], count)
		}
	}
	answer("acme", "a", "text")
	answer("acme", "b", "longer text")
	answer("globex", "c", "")
	totals("made", 2)
	clock.Advance(fleet.AnswerLast)
	answer("acme", "a", "another text")
	totals("one made anew, one over", 1)
	for i := range fleet.MaxAnswersOf + 5 {
		answer("acme", fmt.Sprint(i), "x")
	}
	answer("globex", "d", "text")
	totals("displaced", fleet.MaxAnswersOf+1)
	_, err = s.Erase(t.Context(), "acme")
	must(t, err)
	totals("erased", 1)
}
