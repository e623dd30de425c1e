package xapitest_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/fetcher/xapi/xapitest"
)

// bench is a Server with a clock that stands still.
type bench struct {
	*xapitest.Server
	t   *testing.T
	now time.Time
}

func newBench(t *testing.T, cfg xapitest.Config) *bench {
	b := &bench{t: t, now: time.Date(2026, 9, 1, 12, 0, 0, 0, time.UTC)}
	cfg.Now = func() time.Time { return b.now }
	b.Server = xapitest.New(cfg)
	return b
}

// answer is what is read of an answer.
type answer struct {
	Data []struct {
		ID, Text, Username string
		Metrics            struct {
			Posts int `json:"post_count"`
		} `json:"public_metrics"`
	}
	Includes map[string][]struct{ ID string }
	Errors   []struct {
		Type         string
		ResourceType string `json:"resource_type"`
	}
	Meta struct {
		Count int    `json:"result_count"`
		Next  string `json:"next_token"`
	}
}

func (a *answer) texts() (all []string) {
	for _, d := range a.Data {
		all = append(all, d.Text)
	}
	return all
}

// get makes a request with the parameters given in pairs.
func (b *bench) get(path string, parameters ...string) (answer, *http.Response) {
	b.t.Helper()
	q := url.Values{}
	for i := 0; i+1 < len(parameters); i += 2 {
		q.Set(parameters[i], parameters[i+1])
	}
	r := httptest.NewRequest(http.MethodGet, path+"?"+q.Encode(), nil)
	r.Header.Set("Authorization", "Bearer token")
	w := httptest.NewRecorder()
	b.ServeHTTP(w, r)
	var a answer
	if err := json.Unmarshal(w.Body.Bytes(), &a); err != nil {
		b.t.Fatalf("%s: %v: %s", path, err, w.Body)
	}
	return a, w.Result()
}

func (b *bench) pass(d time.Duration) { b.now = b.now.Add(d) }

func TestTimelines(t *testing.T) {
	b := newBench(t, xapitest.Config{})
	path := "/2/users/" + b.AddAccount("Ann") + "/tweets"
	var ids []string
	for i := range 12 {
		ids = append(ids, b.Post("ann", fmt.Sprint(i)))
		b.pass(time.Minute)
	}
	read := func(parameters ...string) []string {
		a, _ := b.get(path, parameters...)
		if a.Meta.Count != len(a.Data) {
			t.Errorf("result_count is %d of %d", a.Meta.Count, len(a.Data))
		}
		return a.texts()
	}
	for _, row := range []struct {
		parameters []string
		want       []string
	}{
		{[]string{"max_results", "5"}, []string{"11", "10", "9", "8", "7"}},
		{[]string{"since_id", ids[9]}, []string{"11", "10"}},
		{[]string{"since_id", ids[9], "start_time", "2026-09-01T12:11:00Z"}, []string{"11", "10"}}, // since_id goes before
		{[]string{"start_time", "2026-09-01T12:10:00Z"}, []string{"11", "10"}},
		{[]string{"since_id", ids[11]}, nil},
	} {
		if got := read(row.parameters...); !slices.Equal(got, row.want) {
			t.Errorf("%v: %q, want %q", row.parameters, got, row.want)
		}
	}
	all, a := []string{}, answer{}
	for token := ""; ; token = a.Meta.Next {
		if a, _ = b.get(path, "max_results", "5", "pagination_token", token, "start_time", "2026-09-01T12:01:00Z"); len(all) > 20 {
			t.Fatal("pages do not end")
		}
		if all = append(all, a.texts()...); a.Meta.Next == "" {
			break
		}
	}
	if len(all) != 11 {
		t.Errorf("pages have %q, want the 11 posts of since a minute after the first", all)
	}
	edited := b.Edit(ids[11], "new")
	b.Delete(ids[10])
	if got := read("since_id", ids[8]); !slices.Equal(got, []string{"new", "9"}) || edited == ids[11] {
		t.Errorf("after an edit and a deletion there are %q", got)
	}
	for _, bad := range [][]string{{"max_results", "4"}, {"since_id", "x"}, {"start_time", "yesterday"}, {"start_time", "2026-10-01T12:00:00Z"}, {"pagination_token", "?"},
		{"tweet.fields", "text"}, {"post.fields", "note_tweet"}, {"expansions", "pinned"}} {
		if _, resp := b.get(path, bad...); resp.StatusCode != http.StatusBadRequest {
			t.Errorf("%v: %s, want it refused", bad, resp.Status)
		}
	}
}

func TestAccountFaults(t *testing.T) {
	b := newBench(t, xapitest.Config{})
	id := b.AddAccount("ann")
	b.Post("ann", "hello")
	fault := func(path string) string {
		a, resp := b.get(path)
		if resp.StatusCode != http.StatusOK || len(a.Data) != 0 || len(a.Errors) != 1 || a.Errors[0].ResourceType != "user" {
			t.Errorf("%s: %s %+v, want an error beside status 200", path, resp.Status, a)
			return ""
		}
		return a.Errors[0].Type
	}
	const problems = "https://api.x.com/2/problems/"
	if got := fault("/2/users/999/tweets"); got != problems+"resource-not-found" {
		t.Errorf("nobody is %q", got)
	}
	b.SetSuspended("ann", true)
	if got := fault("/2/users/" + id + "/tweets"); got != problems+"resource-not-found" {
		t.Errorf("a suspended account is %q", got)
	}
	b.SetSuspended("ann", false)
	b.SetProtected("ann", true)
	if got := fault("/2/users/" + id + "/tweets"); got != problems+"not-authorized-for-resource" {
		t.Errorf("a protected account is %q", got)
	}
	if b.Billed() != (fetcher.Billed{}) {
		t.Errorf("failed answers are billed: %+v", b.Billed())
	}
}

func TestSearches(t *testing.T) {
	b := newBench(t, xapitest.Config{})
	b.AddAccount("ann")
	b.AddAccount("hidden")
	b.SetProtected("hidden", true)
	old := b.Publish("ann", xapitest.Post{Text: "moon long ago", At: b.now.Add(-8 * 24 * time.Hour)})
	first := b.Post("ann", "moon")
	b.Repost("ann", first)
	b.Post("hidden", "moon")
	b.pass(time.Minute)
	b.Post("ann", "#moon")
	find := func(parameters ...string) []string {
		a, _ := b.get("/2/tweets/search/recent", append(parameters, "query", "moon OR #moon")...)
		return a.texts()
	}
	if got := find(); !slices.Equal(got, []string{"moon"}) {
		t.Errorf("without a bound: %q, want no reposts, nothing protected, old, or of the last 30 seconds", got)
	}
	if got := find("since_id", first); !slices.Equal(got, []string{"#moon"}) {
		t.Errorf("with since_id: %q, want what follows, to the present", got)
	}
	if _, resp := b.get("/2/tweets/search/recent", "query", "moon", "since_id", old); resp.StatusCode != http.StatusBadRequest {
		t.Errorf("since_id of more than 7 days ago: %s", resp.Status)
	}
}

// Each thing is billed once a UTC day, includes too.
func TestBill(t *testing.T) {
	b := newBench(t, xapitest.Config{})
	id, other := b.AddAccount("ann"), b.AddAccount("bob")
	b.Repost("ann", b.Post("bob", "hello"))
	for range 2 {
		if a, _ := b.get("/2/users/"+id+"/tweets", "expansions", "author_id,referenced_posts"); len(a.Includes["posts"]) != 1 {
			t.Errorf("includes are %v", a.Includes)
		}
	}
	want := fetcher.Billed{Posts: 2, Users: 1}
	if b.Billed() != want {
		t.Errorf("billed %+v, want %+v", b.Billed(), want)
	}
	b.pass(12 * time.Hour)
	b.get("/2/users", "ids", id+","+other)
	b.get("/2/users/"+id+"/tweets", "expansions", "author_id,referenced_posts")
	if want = want.Plus(fetcher.Billed{Posts: 2, Users: 2}); b.Billed() != want {
		t.Errorf("on the next day billed %+v, want %+v", b.Billed(), want)
	}
}

func TestRateLimits(t *testing.T) {
	b := newBench(t, xapitest.Config{Limits: map[string]int{"/2/users": 2}})
	id := b.AddAccount("ann")
	status := func() int {
		_, resp := b.get("/2/users", "ids", id)
		if resp.Header.Get("X-Rate-Limit-Limit") != "2" || resp.Header.Get("X-Rate-Limit-Reset") == "" {
			t.Errorf("the headers are %v", resp.Header)
		}
		return resp.StatusCode
	}
	got := []int{status(), status(), status()}
	b.pass(16 * time.Minute)
	if got = append(got, status()); !slices.Equal(got, []int{200, 200, 429, 200}) {
		t.Errorf("four calls, the last in another window: %v", got)
	}
	if b.Calls("/2/users") != 4 {
		t.Errorf("%d calls are counted, want 4", b.Calls("/2/users"))
	}
	if _, resp := b.get("/2/users/" + id + "/tweets"); resp.StatusCode != 200 {
		t.Errorf("an endpoint without a limit: %s", resp.Status)
	}
}

func TestInstead(t *testing.T) {
	b := newBench(t, xapitest.Config{})
	for _, p := range []xapitest.Problem{xapitest.CreditsUsedUp(), xapitest.TooManyConnections(), {Status: 429, RetryAfter: time.Minute}} {
		b.Instead(p)
		if _, resp := b.get("/2/users", "ids", "1"); resp.StatusCode != p.Status || (p.RetryAfter > 0) != (resp.Header.Get("Retry-After") == "60") {
			t.Errorf("%+v: %s %v", p, resp.Status, resp.Header)
		}
	}
	b.Instead(nil)
	if _, resp := b.get("/2/users", "ids", "1"); resp.StatusCode != 200 {
		t.Errorf("afterwards: %s", resp.Status)
	}
}

func Example() {
	server := xapitest.New(xapitest.Config{})
	id := server.AddAccount("ann")
	server.Post("ann", "hello")
	api := httptest.NewServer(server)
	defer api.Close()

	req, err := http.NewRequest(http.MethodGet, api.URL+"/2/users/"+id+"/tweets", nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	req.Header.Set("Authorization", "Bearer token")
	for range 2 { // the second time is free
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			fmt.Println(err)
			return
		}
		resp.Body.Close()
	}
	fmt.Println(server.Billed().Posts, server.Calls("/2/users/:id/tweets"))
	// Output: 1 2
}
