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

// badSyntax reports whether err is a decoding error other than *json.UnmarshalTypeError. After
// a type error, the member of the wrong type is empty and the other members are decoded.
func badSyntax(err error) bool {
	var odd *json.UnmarshalTypeError
	return err != nil && !errors.As(err, &odd)
}

// streamEnded adds the stream's name to the error with which it ended. It also closes idle
// connections. Otherwise the next stream might reuse a broken HTTP/2 connection.
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

// notData returns the result for a line without data. If the line has errors, notData returns
// an error, which ends the stream. Otherwise it returns a SignalGap.
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
