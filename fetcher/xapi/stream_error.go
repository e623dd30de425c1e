package xapi

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/fetcher/upstream"
)

// badSyntax reports whether a decoding error is other than a member of an unexpected type.
// Such a member is left empty and the rest is read.
func badSyntax(err error) bool {
	var odd *json.UnmarshalTypeError
	return err != nil && !errors.As(err, &odd)
}

// streamEnded adds the stream's name to its error. It closes idle connections, because the
// next stream should not reuse a broken one, as HTTP/2 would.
func (c *client) streamEnded(name string, err error) error {
	if err == nil || errors.Is(err, fetcher.ErrResubscribe) {
		return err
	}
	c.http.CloseIdleConnections()
	if errors.Is(err, context.Canceled) {
		return err
	}
	return fmt.Errorf("xapi: %s: %w", name, err)
}

// notData returns the result for a line without data: an error if the line has any, which
// ends the stream, otherwise SignalGap.
func notData(errs []problem) (fetcher.Signal, error) {
	if len(errs) == 0 {
		return fetcher.Signal{Kind: fetcher.SignalGap}, nil
	}
	p := &errs[0]
	if p.kind() == "usage-capped" {
		return fetcher.Signal{}, capped(p, 0)
	}
	var said []string
	for _, s := range []string{p.Title, cmp.Or(p.DisconnectType, p.ConnectionIssue), p.text()} {
		if s != "" && (len(said) == 0 || said[len(said)-1] != s) {
			said = append(said, s)
		}
	}
	return fetcher.Signal{}, fmt.Errorf("the stream was ended by X: %s", upstream.Detail(strings.Join(said, ": "), ""))
}
