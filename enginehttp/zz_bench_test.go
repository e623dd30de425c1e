package enginehttp_test
import ("testing";"net/http/httptest";"github.com/streamwatch/streamwatch/monitor";"fmt";"github.com/streamwatch/streamwatch/billing")
func benchPath(b *testing.B, path string){
	w := newWorld(b, func(s *setup){ s.rate=1000000 })
	w.store.Ledger().Append(b.Context(), billing.Entry{ID:"x",Owner:mine,Amount:5e15})
	for i := range 19 { w.engine.Monitors().Create(b.Context(), monitor.CreateRequest{Owner: mine, Name: fmt.Sprint(i), Usernames: []string{"nasa","esa"}}) }
	b.ReportAllocs()
	for b.Loop() {
		r := httptest.NewRequest("GET", path, nil); r.Header.Set("X-Api-Key", w.key[mine])
		rec := httptest.NewRecorder()
		w.handler.ServeHTTP(rec, r)
		if rec.Code != 200 && rec.Code != 429 { b.Fatal(rec.Code) }
	}
}
func BenchmarkAccount(b *testing.B){ benchPath(b, "/v1/account/me") }
func BenchmarkList(b *testing.B){ benchPath(b, monitors) }
