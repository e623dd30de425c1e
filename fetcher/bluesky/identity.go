package bluesky

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/streamwatch/streamwatch/fetcher"
)

func isDID(s string) bool { return strings.HasPrefix(s, "did:") }

// did returns an account's DID: from the query, from memory, or from the server.
func (f *Fetcher) did(ctx context.Context, q fetcher.TimelineQuery) (string, error) {
	switch {
	case isDID(q.UserID):
		return q.UserID, nil
	case isDID(q.Username):
		return q.Username, nil
	case q.Username == "":
		return "", errors.New("query: Username is empty and UserID is not a DID: want one of them")
	}
	key := strings.ToLower(q.Username)
	if did := f.dids.ID(key); did != "" {
		return did, nil
	}
	resp, err := f.get(ctx, xrpcPath("com.atproto.identity.resolveHandle", url.Values{"handle": {key}}), nil)
	if err != nil {
		return "", unresolved(err)
	}
	defer resp.Release()
	var answer struct {
		DID string `json:"did"`
	}
	if err := unmarshal(resp.Body, &answer); err != nil {
		return "", fmt.Errorf("%w: handle look-up: %w", fetcher.ErrMalformed, err)
	}
	if !isDID(answer.DID) {
		return "", fmt.Errorf("%w: handle look-up gave %.64q, want a DID", fetcher.ErrMalformed, answer.DID)
	}
	f.dids.Set(key, answer.DID)
	return answer.DID, nil
}

// CheckAccount returns an error if name is neither a handle nor a DID. It makes no request. Use
// it as streamwatch.Source.CheckAccount.
func CheckAccount(name string) error {
	if actorOf(fetcher.Account{Username: name}) == "" {
		return errors.New("a handle such as alice.example.com, or a DID such as did:plc:z72i7hdynmk6r22z27h6tvur")
	}
	return nil
}
