package endpoints_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/deliver/endpoints"
	"github.com/streamwatch/streamwatch/storage/memory"
)

// panicky is a Sealer whose methods panic with what they were given.
type panicky struct{ now bool }

func (p *panicky) Seal(_ context.Context, plain []byte, _ string) (string, error) {
	if p.now {
		panic(string(plain))
	}
	return string(plain), nil
}

func (p *panicky) Open(_ context.Context, sealed, _ string) ([]byte, error) {
	if p.now {
		panic(sealed)
	}
	return []byte(sealed), nil
}

// A Sealer that panics has failed, and the secret is not told.
func TestSealerThatPanics(t *testing.T) {
	s := memory.New(memory.Options{})
	defer s.Close(context.Background())
	sealer := &panicky{}
	es, err := endpoints.NewSealedStore(s.Endpoints(), sealer)
	if err != nil {
		t.Fatal(err)
	}
	e := withCanaries(t, es, "one")
	sealer.now = true
	_, got := es.Get(t.Context(), "o", e.ID)
	if !errors.Is(got, deliver.ErrSealed) {
		t.Errorf("Get: %v, want ErrSealed", got)
	}
	updated := es.Update(t.Context(), e)
	for _, err := range []error{got, updated} {
		if err == nil || !strings.Contains(err.Error(), "panicked") || strings.Contains(err.Error(), "canary") {
			t.Errorf("error %v, want one that says that the Sealer panicked, without the secret", err)
		}
	}
}
