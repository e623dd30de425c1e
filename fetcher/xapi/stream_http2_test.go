package xapi_test

import (
	"net/http/httptest"
	"testing"

	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/fetcher/xapi"
	"github.com/streamwatch/streamwatch/fetcher/xapi/xapitest"
)

// X speaks HTTP/2, where a stream shares its network connection with other requests.
func TestActivityOverHTTP2(t *testing.T) {
	x := xapitest.New(xapitest.Config{})
	server := httptest.NewUnstartedServer(x)
	server.EnableHTTP2 = true
	server.StartTLS()
	defer server.Close()
	a, err := xapi.NewActivity(xapi.ActivityConfig{BaseURL: server.URL, Token: "token", HTTP: server.Client()})
	if err != nil {
		t.Fatal(err)
	}
	q := fetcher.StreamQuery{Accounts: []fetcher.Account{{Username: "ann", UserID: x.AddAccount("ann")}}}
	for range 3 {
		l := listen(t, a, q)
		l.next()
		id := x.Post("ann", "hello")
		if g := l.next(); g.Kind != fetcher.SignalPost || g.Post.ID != id {
			t.Errorf("%+v, want the post %s", g, id)
		}
		x.Streams.Cut()
		if err := l.over(); err == nil {
			t.Error("no error when the stream was cut off")
		}
	}
}
