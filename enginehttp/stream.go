package enginehttp

import (
	"context"
	"errors"

	"github.com/streamwatch/streamwatch/apikey"
	"github.com/streamwatch/streamwatch/deliver/wshub"
	"github.com/streamwatch/streamwatch/secret"
)

// WebSocketAuth returns a function for Authenticate of streamwatch.Config.WebSocket. With it the hub
// accepts the keys of auth. Without Config.WebSocket the endpoint answers 501. Connections are free;
// the monitors and rules that send events to them are charged by the minute.
func WebSocketAuth(auth apikey.Authenticator) func(ctx context.Context, key secret.Value) (wshub.Identity, error) {
	return func(ctx context.Context, key secret.Value) (wshub.Identity, error) {
		who, err := auth.Authenticate(ctx, key)
		if errors.Is(err, apikey.ErrInvalid) {
			err = wshub.ErrBadKey
		}
		return wshub.Identity{Owner: who.Owner, KeyID: who.KeyID}, err
	}
}
