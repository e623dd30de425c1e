package engineui_test

import (
	"fmt"
	"log"
	"net/http"

	"github.com/streamwatch/streamwatch"
	"github.com/streamwatch/streamwatch/apikey"
	"github.com/streamwatch/streamwatch/enginetest"
	"github.com/streamwatch/streamwatch/engineui"
	"github.com/streamwatch/streamwatch/storage/memory"
)

// Customers log in with their API keys, and the staff's keys see everything.
func ExampleKeyLogin() {
	store := memory.New(memory.Options{})
	engine, err := streamwatch.New(streamwatch.Config{Fetcher: enginetest.NewPlatform(enginetest.PlatformConfig{}), Store: store})
	if err != nil {
		log.Fatal(err)
	}
	keys, err := apikey.NewManager(apikey.Config{Records: store.Ports().Records})
	if err != nil {
		log.Fatal(err)
	}
	console, err := engineui.New(engineui.Config{
		Engine: engine, Ledger: store.Ports().Ledger,
		Login: &engineui.KeyLogin{Auth: keys, Operator: func(p apikey.Principal) bool { return p.Owner == "staff" && p.Scope.CanAdmin() }},
	})
	if err != nil {
		log.Fatal(err)
	}
	defer console.Close()
	mux := http.NewServeMux()
	mux.Handle("/console/", console)
	answer := ask(mux, http.MethodGet, "/console/", "", nil)
	fmt.Println(answer.Code, answer.Header().Get("Location"))
	// Output: 303 login
}
