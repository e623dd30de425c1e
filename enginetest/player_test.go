package enginetest_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"reflect"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch"
	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/enginetest"
	"github.com/streamwatch/streamwatch/enginetest/arrivals"
	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/monitor"
)

// watch runs an engine on a Player until the recording is over, and returns how often
// each post came, and those that were owed.
func watch(t *testing.T, player *enginetest.Player) (came map[string]int, owed []enginetest.Truth) {
	t.Helper()
	var mu sync.Mutex
	came = map[string]int{}
	cfg := streamwatch.Config{Fetcher: player, OnEvent: func(_ context.Context, e deliver.Event) error {
		mu.Lock()
		defer mu.Unlock()
		came[e.TweetID]++
		return nil
	}}
	cfg.Detect.Overlap = 5 * time.Minute // posts of the recordings come up to 4 min late
	engine, err := streamwatch.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	if err := engine.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	since := time.Now()
	if _, err := engine.Monitors().Create(t.Context(), monitor.CreateRequest{Name: "all", Usernames: player.Accounts(), PollInterval: 30 * time.Second}); err != nil {
		t.Fatal(err)
	}
	pass(player.Length() + 10*time.Minute)
	if err := engine.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
	for _, post := range player.Posted() {
		if !post.PublishedAt.Before(since) {
			owed = append(owed, post)
		}
	}
	return came, owed
}

// pass lets time go by, in a bubble.
func pass(d time.Duration) { <-time.After(d) }

func play(t *testing.T, recording string) *enginetest.Player {
	t.Helper()
	player, err := enginetest.NewPlayer(strings.NewReader(recording))
	if err != nil {
		t.Fatal(err)
	}
	return player
}

// The recording is of an hour on six accounts: posts that come late and out of order,
// single answers that fail, 12 minutes in which all do, an account that is protected for a
// while, and a burst of 40 posts. Everything is delivered once in the end.
func TestOutageLosesNothing(t *testing.T) {
	recording, err := os.ReadFile("testdata/outage.jsonl.gz")
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		player := play(t, string(recording))
		if n := len(player.Accounts()); n != 6 || player.Length() < 50*time.Minute {
			t.Errorf("%d accounts for %s, want six for an hour", n, player.Length())
		}
		came, owed := watch(t, player)
		during := 0
		began := time.Now().Add(-player.Length() - 10*time.Minute)
		for _, post := range owed {
			if came[post.ID] != 1 {
				t.Errorf("post %s of %s, there since %s, came %d times", post.ID, post.Account, post.VisibleAt.Sub(began), came[post.ID])
			}
			if at := post.PublishedAt.Sub(began); at > 10*time.Minute && at < 22*time.Minute {
				during++
			}
		}
		if len(owed) < 150 || during < 20 || len(came) != len(owed) {
			t.Errorf("%d posts came, %d were owed, %d of the outage", len(came), len(owed), during)
		}
	})
}

// What a Recorder wrote plays as the platform was.
func TestRecordAndPlay(t *testing.T) {
	var recording bytes.Buffer
	var posted int
	synctest.Test(t, func(t *testing.T) {
		platform := enginetest.NewPlatform(enginetest.PlatformConfig{Accounts: []string{"Nasa", "esa"}, LateShare: 0.3, LateUpTo: time.Minute, PageSize: 5,
			Faults: enginetest.Faults{ServerError: 0.1, NullFields: 0.05, WrongAuthor: 0.05}})
		recorder := enginetest.NewRecorder(platform, &recording)
		engine, err := streamwatch.New(streamwatch.Config{Fetcher: recorder, OnEvent: func(context.Context, deliver.Event) error { return nil }})
		if err != nil {
			t.Fatal(err)
		}
		if err := engine.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		if _, err := engine.Monitors().Create(t.Context(), monitor.CreateRequest{Name: "all", Usernames: []string{"nasa", "ESA"}, PollInterval: 30 * time.Second}); err != nil {
			t.Fatal(err)
		}
		if err := platform.Run(t.Context(), enginetest.PostRate{PerSecond: 0.1, Total: 100}); err != nil {
			t.Fatal(err)
		}
		pass(3 * time.Minute)
		if err := errors.Join(engine.Shutdown(t.Context()), recorder.Err()); err != nil {
			t.Error(err)
		}
		posted = len(platform.Posted())
	})
	for _, secret := range []string{"nasa", "Nasa", "\"esa\"", "\"ESA\"", "Post 1", "100001"} {
		if strings.Contains(recording.String(), secret) {
			t.Errorf("the recording has %q", secret)
		}
	}
	synctest.Test(t, func(t *testing.T) {
		came, owed := watch(t, play(t, recording.String()))
		if len(owed) != posted || len(came) != posted {
			t.Errorf("%d posts came, %d were owed, the platform had %d", len(came), len(owed), posted)
		}
		for id, n := range came {
			if n != 1 {
				t.Errorf("post %s came %d times", id, n)
			}
		}
	})
}

// says is a Fetcher and Searcher with one answer.
type says struct {
	page fetcher.Page
	err  error
}

func (s says) Timeline(context.Context, fetcher.TimelineQuery) (fetcher.Page, error) {
	return s.page, s.err
}
func (s says) Search(context.Context, fetcher.SearchQuery) (fetcher.Page, error) {
	return s.page, s.err
}

// An error is played as the kind it was, without its text.
func TestRecordedErrors(t *testing.T) {
	for _, tc := range []struct{ err, want error }{
		{fmt.Errorf("reading nasa: %w", fetcher.ErrNotFound), fetcher.ErrNotFound},
		{fetcher.ErrProtected, fetcher.ErrProtected},
		{fetcher.ErrMalformed, fetcher.ErrMalformed},
		{fetcher.ErrUnauthorized, fetcher.ErrUnauthorized},
		{context.DeadlineExceeded, context.DeadlineExceeded},
		{&fetcher.StatusError{Code: 503, RetryAfter: time.Minute, Detail: "nasa"}, &fetcher.StatusError{Code: 503, RetryAfter: 50 * time.Second}},
		{&fetcher.RateLimitError{RetryAfter: time.Minute, Target: true}, &fetcher.RateLimitError{RetryAfter: 50 * time.Second, Target: true}},
		{errors.New("nasa is on fire"), errors.New("the call failed")},
	} {
		synctest.Test(t, func(t *testing.T) {
			var b bytes.Buffer
			if _, err := enginetest.NewRecorder(says{err: tc.err}, &b).Timeline(t.Context(), fetcher.TimelineQuery{Username: "nasa"}); err != tc.err {
				t.Errorf("passed on %v, want %v", err, tc.err)
			}
			player := play(t, b.String())
			pass(10 * time.Second)
			_, err := player.Timeline(t.Context(), fetcher.TimelineQuery{Username: player.Accounts()[0]})
			same := errors.Is(err, tc.want) || err != nil && strings.HasSuffix(err.Error(), tc.want.Error()) && fetcher.RetryAfter(err) == fetcher.RetryAfter(tc.want)
			if !same || strings.Contains(b.String(), "nasa") {
				t.Errorf("%v is played as %v, want %v, from %s", tc.err, err, tc.want, b.String())
			}
		})
	}
}

// A call that the caller gave up says nothing of the platform, and a writer that fails is
// reported, while the answers stay.
func TestRecorderLeavesOut(t *testing.T) {
	var b bytes.Buffer
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := enginetest.NewRecorder(says{err: context.Canceled}, &b).Timeline(ctx, fetcher.TimelineQuery{Username: "nasa"}); err != context.Canceled || b.Len() > 0 {
		t.Errorf("%v, recorded %q", err, b.String())
	}
	file, err := os.Create(t.TempDir() + "/closed")
	if err != nil {
		t.Fatal(err)
	}
	file.Close()
	r := enginetest.NewRecorder(says{page: fetcher.Page{UserID: "1"}}, file)
	if page, err := r.Timeline(t.Context(), fetcher.TimelineQuery{Username: "nasa"}); err != nil || page.UserID != "1" || !errors.Is(r.Err(), os.ErrClosed) {
		t.Errorf("%+v, %v; %v", page, err, r.Err())
	}
}

const twoCalls = `{"at":"2026-01-01T00:00:00Z","account":"xa","user_id":"x1","posts":[{"id":"xp1","user_id":"x1","username":"xa","published":"2025-12-31T23:00:00Z"}]}
{"at":"2026-01-01T00:01:00Z","account":"xa","error":{"kind":"status","code":502}}
{"at":"2026-01-01T00:02:00Z","account":"xa","user_id":"x1","skipped":1,"posts":[{"id":"xp3","user_id":"x1","username":"xa","published":"2026-01-01T00:01:30Z"},{"id":"xp2","user_id":"x1","username":"xa","published":"2025-12-31T23:59:00Z"}]}
{"at":"2026-01-01T00:02:00Z","query":"xq","posts":[{"id":"xp3","user_id":"x1","username":"xa","published":"2026-01-01T00:01:30Z","reply_to":"xp1"}]}
`

// A post is there from its publication, or from the call that first shows it when one in
// between did not; an error lasts until the next call.
func TestPlayerInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		player := play(t, twoCalls+`{"at":"2026-01-01T00:0`) // cut
		for _, step := range []struct {
			at   time.Duration
			want string
		}{
			{0, "xp1"},
			{59 * time.Second, "xp1"},
			{time.Minute, "fetcher: status 502"},
			{119 * time.Second, "fetcher: status 502"},
			{2 * time.Minute, "xp3 xp2 xp1"},
			{time.Hour, "xp3 xp2 xp1"},
		} {
			pass(step.at - time.Since(time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)))
			page, err := player.Timeline(t.Context(), fetcher.TimelineQuery{Username: "XA"})
			if got := ids(page); err == nil && got != step.want || err != nil && !strings.HasSuffix(err.Error(), step.want) {
				t.Errorf("after %s: %q, %v, want %q", step.at, got, err, step.want)
			}
		}
		first, err := player.Timeline(t.Context(), fetcher.TimelineQuery{Username: "xa", Limit: 2, Seen: func(id string) bool { return id == "xp2" }})
		if err != nil || ids(first) != "xp3" || first.Skipped != 1 || first.Next != "xp2" || first.UserID != "x1" {
			t.Errorf("a page of two: %+v, %v", first, err)
		}
		if older, err := player.Timeline(t.Context(), fetcher.TimelineQuery{Username: "xa", Cursor: first.Next}); err != nil || ids(older) != "xp1" || older.Next != "" {
			t.Errorf("the next page: %+v, %v", older, err)
		}
		if found, err := player.Search(t.Context(), fetcher.SearchQuery{Query: "xq"}); err != nil || ids(found) != "xp3" || found.Tweets[0].InReplyToStatusID != "xp1" {
			t.Errorf("search: %+v, %v", found, err)
		}
		if _, err := player.Timeline(t.Context(), fetcher.TimelineQuery{Username: "other"}); !errors.Is(err, fetcher.ErrNotFound) {
			t.Errorf("another account: %v", err)
		}
		var late []string
		for _, post := range player.Posted() {
			late = append(late, fmt.Sprint(post.ID, " ", post.VisibleAt.Sub(post.PublishedAt)))
		}
		if want := []string{"xp1 0s", "xp3 0s", "xp2 3m0s"}; !reflect.DeepEqual(late, want) {
			t.Errorf("posted %q, want %q", late, want)
		}
	})
}

func ids(p fetcher.Page) string {
	var list []string
	for i := range p.Tweets {
		list = append(list, p.Tweets[i].ID)
	}
	return strings.Join(list, " ")
}

func TestNewPlayerRefuses(t *testing.T) {
	for name, recording := range map[string]string{
		"nothing":            "",
		"no JSON":            "at 12:00",
		"neither of both":    `{"at":"2026-01-01T00:00:00Z"}`,
		"no time":            `{"account":"xa"}`,
		"an unknown failure": `{"at":"2026-01-01T00:00:00Z","account":"xa","error":{"kind":"weather"}}`,
		"broken gzip":        "\x1f\x8b nothing",
	} {
		if _, err := enginetest.NewPlayer(strings.NewReader(recording)); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

// Arrivals play on accounts that never fail: an engine finds all of them once.
func TestPlayArrivals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		recording := arrivals.Generate(arrivals.Config{Seed: 1, Accounts: 5, Duration: time.Hour, PerDay: 200})
		player := enginetest.PlayArrivals(recording)
		if player.Length() != time.Hour || !reflect.DeepEqual(player.Accounts(), enginetest.AccountNames(5)) {
			t.Errorf("%s of %q", player.Length(), player.Accounts())
		}
		came, owed := watch(t, player)
		if want := len(recording.InOrder()); len(owed) != want || len(came) != want {
			t.Errorf("%d came, %d were owed, the recording has %d", len(came), len(owed), want)
		}
	})
}

// An outage that production saw becomes a test: record what the platform answers, keep the
// file, and play it to an engine in a testing/synctest bubble.
func ExampleRecorder() {
	platform := enginetest.NewPlatform(enginetest.PlatformConfig{Accounts: []string{"nasa"}})
	platform.Post("nasa", "Lift-off")

	var file bytes.Buffer
	recorder := enginetest.NewRecorder(platform, &file) // streamwatch.Config.Fetcher
	recorder.Timeline(context.Background(), fetcher.TimelineQuery{Username: "nasa"})

	player, err := enginetest.NewPlayer(&file)
	if err != nil {
		fmt.Println(err)
		return
	}
	page, err := player.Timeline(context.Background(), fetcher.TimelineQuery{Username: player.Accounts()[0]})
	fmt.Println(len(page.Tweets), "post", err)
	// Output: 1 post <nil>
}
