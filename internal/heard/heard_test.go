package heard_test

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/streamwatch/streamwatch/internal/heard"
	"github.com/streamwatch/streamwatch/internal/planted"
)

func TestOutput(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var o heard.Output
		calls := 0
		o.On("number 2", func() { calls++ })
		go func() {
			for i := range 4 {
				synctest.Wait() // until the test waits
				fmt.Fprint(&o, "number ", i, "\n")
			}
			fmt.Fprint(&o, "number 2\n")
			o.End()
		}()
		if m := o.Wait(t, `number ([2-9])\n`); !slices.Equal(m, []string{"number 2\n", "2"}) {
			t.Errorf("found %q", m)
		}
		o.Wait(t, `(?s)3.*2`)
		if want := "number 0\nnumber 1\nnumber 2\nnumber 3\nnumber 2\n"; o.String() != want || calls != 1 {
			t.Errorf("%q was written, want %q; %d calls for number 2, want 1", o.String(), want, calls)
		}
	})
}

// What ends without the line fails the test that waits for it.
func TestEnd(t *testing.T) {
	said := planted.ReportsInBubble(t, func(t testing.TB) {
		var o heard.Output
		fmt.Fprint(&o, "error: no such thing")
		go func() {
			synctest.Wait()
			o.End()
			if _, err := fmt.Fprint(&o, "serving"); err == nil {
				t.Error("a write after the end succeeds")
			}
		}()
		o.Wait(t, "serving")
	})
	if want := []string{"no serving in what was written:\nerror: no such thing"}; !slices.Equal(said, want) {
		t.Errorf("the test is told %q, want %q", said, want)
	}
}
