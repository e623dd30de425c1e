package poll

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// It behaves as context.WithTimeout does, whether or not Done was asked for.
func TestDeadlineIsAContext(t *testing.T) {
	type key struct{}
	for _, asks := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			parent, cancel := context.WithCancelCause(context.WithValue(t.Context(), key{}, "v"))
			fresh := func() *deadline {
				c := withDeadline(parent, time.Now().Add(time.Minute))
				if asks {
					c.Done()
				}
				return c
			}
			c := fresh()
			if at, ok := c.Deadline(); !ok || !at.Equal(time.Now().Add(time.Minute)) || c.Err() != nil || c.Value(key{}) != "v" {
				t.Errorf("deadline %v %v, error %v, value %v", at, ok, c.Err(), c.Value(key{}))
			}
			after(time.Minute)
			if !errors.Is(c.Err(), context.DeadlineExceeded) {
				t.Errorf("after the deadline: %v", c.Err())
			}
			<-c.Done()

			c = fresh()
			child, stop := context.WithCancel(c)
			defer stop()
			c.End()
			<-child.Done()
			<-c.Done()
			if !errors.Is(c.Err(), context.Canceled) || !errors.Is(child.Err(), context.Canceled) {
				t.Errorf("after the end: %v, child %v", c.Err(), child.Err())
			}

			c = fresh()
			child, stop = context.WithTimeout(c, time.Hour)
			defer stop()
			cancel(errors.New("why"))
			<-child.Done()
			<-c.Done()
			if !errors.Is(c.Err(), context.Canceled) || context.Cause(child).Error() != "why" {
				t.Errorf("after the parent: %v, cause for the child %v", c.Err(), context.Cause(child))
			}
		})
	}
	synctest.Test(t, func(t *testing.T) {
		c := withDeadline(t.Context(), time.Now().Add(time.Minute))
		c.End()
		early := c.Err()
		select {
		case <-c.Done():
		default:
			t.Error("not done after the end")
		}
		if !errors.Is(early, context.Canceled) || !errors.Is(c.Err(), context.Canceled) {
			t.Errorf("after the end: %v, and %v when Done is asked for", early, c.Err())
		}
	})
	soon, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	c := &deadline{parent: soon, at: time.Now().Add(time.Hour)}
	if at, ok := c.Deadline(); !ok || time.Until(at) > time.Second {
		t.Errorf("deadline %v, want the parent's, which is earlier", at)
	}
}

func after(d time.Duration) {
	<-time.After(d) // virtual: only called in a synctest bubble
	synctest.Wait()
}
