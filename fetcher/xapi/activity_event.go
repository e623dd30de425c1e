package xapi

import (
	"encoding/json"

	"github.com/streamwatch/streamwatch/fetcher"
)

// events are what an activity stream brings.
type events struct {
	activity *Activity
	subs     *subscriptions
	users    map[string]fetcher.Account // told, by id
}

// force gives the accounts that are subscribed to.
func (e *events) force() force {
	accounts := e.subs.inForce()
	clear(e.users)
	for _, a := range accounts {
		e.users[a.UserID] = a
	}
	return force{sig: fetcher.Signal{Accounts: accounts}, some: len(accounts) > 0}
}

// event is one as X writes it.
type event struct {
	Data *struct {
		UUID      ident  `json:"event_uuid"`
		EventType string `json:"event_type"`
		Filter    struct {
			UserID ident `json:"user_id"`
		} `json:"filter"`
		Payload  post     `json:"payload"`
		Includes includes `json:"includes"`
	} `json:"data"`
	Errors list[problem] `json:"errors"`
}

// signal reads a line. One that cannot be read is a gap; an event of an account that is
// not told, or of another kind, only shows that the stream is alive.
func (e *events) signal(line []byte) (fetcher.Signal, error) {
	var v event
	if lenient(json.Unmarshal(line, &v)) != nil {
		return fetcher.Signal{Kind: fetcher.SignalGap}, nil
	}
	if v.Data == nil || v.Data.EventType == "" {
		return notData(v.Errors)
	}
	d := v.Data
	user := first(d.Payload.AuthorID, d.Filter.UserID)
	account, told := e.users[string(user)]
	sig := fetcher.Signal{Kind: fetcher.SignalHeartbeat}
	c := e.activity.client
	sig.Billed.Events = c.ledger.charge(c.now(), billedEvent, string(d.UUID))
	switch {
	case !told || d.EventType != postCreate && d.EventType != postDelete:
	case d.Payload.ID == "":
		sig.Kind, sig.Accounts = fetcher.SignalGap, []fetcher.Account{account}
	case d.EventType == postDelete:
		sig.Kind, sig.ID = fetcher.SignalDelete, string(d.Payload.ID)
	default:
		d.Payload.AuthorID = user
		t := d.Payload.tweet(&d.Includes)
		sig.Kind, sig.Post = fetcher.SignalPost, &t
	}
	return sig, nil
}
