package postgres_test

import (
	"net"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/streamwatch/streamwatch/storage/postgres"
)

// A server that ends may answer a query with no rows: that is an error, whether or not the address asks
// for a server that takes writes.
func TestServerThatAnswersNothing(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	var served sync.WaitGroup
	served.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			served.Go(func() { answerNothing(conn) })
		}
	})
	for _, settings := range []string{"", "&target_session_attrs=read-write"} {
		s, err := postgres.Open(t.Context(), "postgres://u@"+l.Addr().String()+"/d?sslmode=disable"+settings, postgres.Options{})
		if err == nil || !strings.Contains(err.Error(), "the server did not say whether it takes writes") {
			t.Errorf("%q: %v, %v; want an error that says so", settings, s, err)
		}
	}
	must(t, l.Close())
	served.Wait()
}

// answerNothing serves a connection.
func answerNothing(conn net.Conn) {
	defer conn.Close()
	b := pgproto3.NewBackend(conn, conn)
	if _, err := b.ReceiveStartupMessage(); err != nil {
		return
	}
	b.Send(&pgproto3.AuthenticationOk{})
	for {
		b.Send(&pgproto3.ReadyForQuery{TxStatus: 'I'})
		if b.Flush() != nil {
			return
		}
		if m, err := b.Receive(); err != nil {
			return
		} else if _, ended := m.(*pgproto3.Terminate); ended {
			return
		}
	}
}
