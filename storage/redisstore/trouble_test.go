package redisstore_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"

	"github.com/streamwatch/streamwatch/billing"
	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/storage/redisstore"
)

// If a second attempt is refused before the script runs, it is not known whether the first
// one took effect. If the script itself refuses, it did not.
func TestARefusedRepetition(t *testing.T) {
	for _, row := range []struct {
		name, message string
		unknown       bool
	}{
		{"password changed meanwhile", "WRONGPASS invalid username-password pair or user is disabled.", true},
		{"rights changed meanwhile", "NOPERM this user has no permissions to run the 'evalsha' command", true},
		{"refused by the script", "OOM command not allowed when used memory > 'maxmemory'. script: 1f2e, on @user_script:9.", false},
	} {
		t.Run(row.name, func(t *testing.T) {
			s, l, server := openLinked(t, redisstore.Options{})
			must(t, s.Ports().Ledger.Append(t.Context())) // the server knows the script
			attempt := 0
			l.set(func([]byte) linkFault {
				if attempt++; attempt == 1 {
					return loseReply
				}
				server.Server().SetPreHook(failFirst(1, row.message))
				return noFault
			})
			err := s.Ports().Ledger.Append(t.Context(), billing.Entry{ID: "e", Owner: "acme", Amount: 1})
			if err == nil || errors.Is(err, redisstore.ErrUnknown) != row.unknown {
				t.Errorf("error = %v, want one with ErrUnknown: %v", err, row.unknown)
			}
		})
	}
}

// Redis does not roll back a script that fails after it has written.
func TestAScriptThatFailsMayHaveWritten(t *testing.T) {
	s, server, _ := open(t, redisstore.Options{})
	server.Server().SetPreHook(failFirst(1, "WRONGTYPE Operation against a key holding the wrong kind of value script: 1f2e, on @user_script:90."))
	wantErr(t, s.Ports().Ledger.Append(t.Context(), billing.Entry{ID: "e", Owner: "acme", Amount: 1}), redisstore.ErrUnknown)
}

// A claim whose reply was lost, and which is tried again, returns only the deliveries that
// were not settled or claimed by others meanwhile.
func TestALateAnswerOfAClaim(t *testing.T) {
	for _, row := range []struct {
		name      string
		meanwhile func(t *testing.T, other *redisstore.Store, ds []deliver.Delivery)
		want      string
	}{
		{"nothing happened", func(*testing.T, *redisstore.Store, []deliver.Delivery) {}, "a b"},
		{"one was delivered", func(t *testing.T, other *redisstore.Store, ds []deliver.Delivery) { settle(t, other, ds[0]) }, "b"},
		{"others have claimed both", func(t *testing.T, other *redisstore.Store, _ []deliver.Delivery) {
			_, err := other.Ports().Outbox.Claim(t.Context(), deliver.ClaimRequest{Now: start.Add(time.Hour), Lease: time.Hour, Limit: 2})
			must(t, err)
		}, ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			s, l, server := openLinked(t, redisstore.Options{})
			other, _ := openOn(t, server, redisstore.Options{})
			claim(t, s, 1) // the server knows the script: it runs at the first attempt
			ds := commit(t, s, newEvent(acme, "1", "a", "b")).Deliveries
			attempt := 0
			l.set(func([]byte) linkFault {
				if attempt++; attempt == 1 {
					return loseReply
				}
				row.meanwhile(t, other, ds)
				return noFault
			})
			names := strings.ReplaceAll(endpointsOf(claim(t, s, 2)), deliver.HandlerEndpoint(""), "")
			want(t, "claimed by the repetition", names, row.want)
		})
	}
}

// A delivery that cannot be read does not keep others from being claimed.
func TestADamagedDeliveryKeepsBackNoOther(t *testing.T) {
	for _, row := range []struct {
		name   string
		damage func(server *miniredis.Miniredis, d deliver.Delivery)
	}{
		{"event", func(server *miniredis.Miniredis, d deliver.Delivery) {
			server.HSet("{streamwatch}:events", d.Event.ID, "\x09 of a newer version")
		}},
		{"delivery", func(server *miniredis.Miniredis, d deliver.Delivery) {
			key := "{streamwatch}:deliveries"
			record := server.HGet(key, d.ID)
			server.HSet(key, d.ID, record[:len(record)-1])
		}},
	} {
		t.Run(row.name, func(t *testing.T) {
			s, server, _ := open(t, redisstore.Options{})
			row.damage(server, commit(t, s, newEvent(acme, "1", "damaged")).Deliveries[0])
			commit(t, s, newEvent(acme, "2", "sound"))
			want(t, "claimed", endpointsOf(claim(t, s, 10)), deliver.HandlerEndpoint("sound"))
		})
	}
}

// When all data was removed, a store fails to write: sequence numbers must not begin again
// while clients use those they know.
func TestWritesFailWhenEverythingWasRemoved(t *testing.T) {
	s, server, _ := open(t, redisstore.Options{})
	furnish(t, s)
	server.FlushAll()
	for _, call := range writingCalls(s) {
		if _, err := call.do(t.Context()); err == nil || !strings.Contains(err.Error(), "data was removed") {
			t.Errorf("%s: error = %v, want that the data was removed", call.name, err)
		}
	}
	again, _ := openOn(t, server, redisstore.Options{})
	want(t, "number after opening again", commit(t, again, newEvent(acme, "1")).Events[0].Seq, 1)
}
