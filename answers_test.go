package streamwatch_test

import (
	"testing"
	"time"

	"github.com/streamwatch/streamwatch"
	"github.com/streamwatch/streamwatch/enginetest"
	"github.com/streamwatch/streamwatch/fleet"
	"github.com/streamwatch/streamwatch/storage"
	"github.com/streamwatch/streamwatch/storage/memory"
)

// answersOf gives the Answers of a new engine on a store.
func answersOf(t *testing.T, s storage.Store) fleet.Answers {
	t.Helper()
	e, err := streamwatch.New(streamwatch.Config{Fetcher: enginetest.NewPlatform(enginetest.PlatformConfig{}), Store: s})
	if err != nil {
		t.Fatal(err)
	}
	return e.Answers()
}

func keepAnswer(t *testing.T, a fleet.Answers, id, text string) {
	t.Helper()
	q := fleet.Request{Owner: "acme", ID: id, Asked: "x", By: "first", Lease: time.Minute}
	if had, err := a.Begin(t.Context(), q); had != nil || err != nil {
		t.Fatalf("Begin gives %v, %v", had, err)
	}
	if err := a.Finish(t.Context(), q, []byte(text)); err != nil {
		t.Fatal(err)
	}
}

// storedAnswer is the answer that Begin gives, "" for none.
func storedAnswer(t *testing.T, a fleet.Answers, id string) (string, error) {
	t.Helper()
	had, err := a.Begin(t.Context(), fleet.Request{Owner: "acme", ID: id, Asked: "x", By: "again", Lease: time.Minute})
	if had == nil {
		return "", err
	}
	return string(had.Text), err
}

// Engines on one store have their answers in common.
func TestAnswersAreShared(t *testing.T) {
	store := memory.New(memory.Options{})
	keepAnswer(t, answersOf(t, store), "q", "text")
	if got, err := storedAnswer(t, answersOf(t, store), "q"); got != "text" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
}

// A store that cannot be shared keeps no answers: they are each engine's own.
func TestAnswersWithoutASharing(t *testing.T) {
	store := struct{ storage.Store }{memory.New(memory.Options{})}
	one, two := answersOf(t, store), answersOf(t, store)
	keepAnswer(t, one, "q", "text")
	if got, err := storedAnswer(t, one, "q"); got != "text" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	if got, err := storedAnswer(t, two, "q"); got != "" || err != nil {
		t.Errorf("another engine has %q, %v", got, err)
	}
}

// Erase removes an owner's answers, wherever they are.
func TestEraseRemovesAnswers(t *testing.T) {
	store := memory.New(memory.Options{})
	for name, s := range map[string]storage.Store{
		"in the store": store,
		"in the engine": struct {
			storage.Store
			storage.Eraser
		}{store, store},
	} {
		e, err := streamwatch.New(streamwatch.Config{Fetcher: enginetest.NewPlatform(enginetest.PlatformConfig{}), Store: s})
		if err != nil {
			t.Fatal(err)
		}
		keepAnswer(t, e.Answers(), "q", "text")
		report, err := e.Erase(t.Context(), "acme")
		if err != nil || report.Answers != 1 {
			t.Errorf("%s: %d answers erased, %v, want 1", name, report.Answers, err)
		}
		if got, err := storedAnswer(t, e.Answers(), "q"); got != "" || err != nil {
			t.Errorf("%s: %q, %v after Erase", name, got, err)
		}
		if _, err := e.Erase(t.Context(), "acme"); err != nil { // what storedAnswer has begun
			t.Fatal(err)
		}
	}
}
