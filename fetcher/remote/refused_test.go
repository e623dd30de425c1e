package remote_test

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/secret"
)

func TestStreamRefused(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*service)
		key    secret.Value
		held   int // connections of the key
		want   error
		status int
	}{
		{name: "a key that is not valid", key: "sw_0000", want: fetcher.ErrUnauthorized},
		{name: "no WebSocket", change: func(s *service) { s.silent = true }, want: fetcher.ErrUnsupported},
		{name: "another segment", change: func(s *service) { s.options.Segment = "web2" }, want: fetcher.ErrNotFound},
		{name: "too many connections", held: 5, status: 4003},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := newService(t, newPlatform(), func(s *service) {
				if c.change != nil {
					c.change(s)
				}
			})
			server := serve(t, s)
			s.start()
			defer s.stop()
			key := c.key
			if key == "" {
				key = s.key.Secret
			}
			stream := newStream(t, server.Client(), key)
			for range c.held {
				l := listen(t, stream, "")
				defer l.stop()
				l.next(t)
			}
			err := stream.Stream(t.Context(), fetcher.StreamQuery{}, func(g fetcher.Signal) error { t.Errorf("%s: %+v", c.name, g); return nil })
			var status *fetcher.StatusError
			if c.want != nil && !errors.Is(err, c.want) || c.status != 0 && (!errors.As(err, &status) || status.Code != c.status) || strings.Contains(err.Error(), string(key)) {
				t.Errorf("%s: %v", c.name, err)
			}
		})
	}
	// The key becomes invalid while the connection is open.
	synctest.Test(t, func(t *testing.T) {
		s := newService(t, newPlatform())
		server := serve(t, s)
		s.start()
		defer s.stop()
		l := listen(t, newStream(t, server.Client(), s.key.Secret), "")
		l.next(t)
		if _, err := s.keys.Revoke(t.Context(), owner, s.key.ID); err != nil {
			t.Fatal(err)
		}
		if err := <-l.ended; !errors.Is(err, fetcher.ErrUnauthorized) {
			t.Errorf("a key that was revoked: %v", err)
		}
	})
}
