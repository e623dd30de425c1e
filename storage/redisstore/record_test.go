package redisstore_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	mini "github.com/alicebob/miniredis/v2/server"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/record"
	"github.com/streamwatch/streamwatch/storage/redisstore"
)

// A store that dies after the first script of Apply leaves open deliveries of a deleted
// endpoint. None is claimed, whatever happens to the others, and the next store ends them.
func TestDeliveriesOfADeletedEndpointAreEndedByTheNextStore(t *testing.T) {
	ctx := t.Context()
	s, server, _ := open(t, redisstore.Options{})
	parent := record.Record{Key: record.Key{Kind: record.Monitor, ID: acme.ID}, Owner: acme.Owner}
	endpoint := record.Record{Key: record.Key{Kind: record.Endpoint, ID: "e"}, Owner: acme.Owner, Parent: parent.Key, Status: "active"}
	_, err := s.Ports().Records.Apply(ctx, record.Change{Put: []record.Record{parent, endpoint}})
	must(t, err)
	var evs []deliver.Event
	for i := range 2100 {
		evs = append(evs, newEvent(acme, fmt.Sprint(i)))
	}
	commit(t, s, evs...)
	claimed := claim(t, s, 10)

	server.Server().SetPreHook(func(p *mini.Peer, cmd string, args ...string) bool {
		step := strings.HasPrefix(cmd, "EVAL") && slices.Contains(args, "{streamwatch}:closing") && !slices.Contains(args, "{streamwatch}:records")
		if step {
			p.WriteError("ERR no more")
		}
		return step
	})
	_, err = s.Ports().Records.Apply(ctx, record.Change{Delete: []record.Ref{{Key: parent.Key, Owner: acme.Owner}}})
	must(t, err)
	openDeliveries := func() int {
		page, err := s.Ports().Log.Deliveries(ctx, deliver.LogQuery{Owner: acme.Owner, State: deliver.StatePending})
		must(t, err)
		return page.Total
	}
	want(t, "open deliveries after the first script", openDeliveries(), 1100)
	must(t, s.Ports().Outbox.Settle(ctx, deliver.Settlement{DeliveryID: claimed[0].ID, Attempt: &deliver.Attempt{N: 1}, State: deliver.StateRetrying, Due: start}))
	ds, err := s.Ports().Outbox.Claim(ctx, deliver.ClaimRequest{Now: start.Add(time.Hour), Lease: time.Minute, Limit: 10})
	must(t, err)
	want(t, "claimed", len(ds), 0)
	_, due, err := s.Ports().Outbox.NextDue(ctx, nil)
	must(t, err)
	want(t, "is one due", due, false)

	server.Server().SetPreHook(nil)
	openOn(t, server, redisstore.Options{})
	want(t, "open deliveries after the next Open", openDeliveries(), 0)
	if queue, _ := server.ZMembers("{streamwatch}:queue"); len(queue) > 0 || server.Exists("{streamwatch}:closing") {
		t.Errorf("left in the queue: %q", queue)
	}
}
