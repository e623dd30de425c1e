package pace_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/internal/pace"
)

// near allows for the rounding of sums and of nanoseconds.
func near(got, want float64) bool { return math.Abs(got-want) <= 1e-8*math.Abs(want)+1e-8 }

func checkForecast(t *testing.T, got, want pace.Forecast) {
	t.Helper()
	same := near(got.Mean.Seconds(), want.Mean.Seconds()) && near(got.P95.Seconds(), want.P95.Seconds()) &&
		near(got.LongestInterval.Seconds(), want.LongestInterval.Seconds()) &&
		near(got.CallsPerMinute, want.CallsPerMinute) && near(got.Shortfall, want.Shortfall) && got.Feasible == want.Feasible
	if !same {
		t.Errorf("forecast\n%+v, want\n%+v", got, want)
	}
}

func seconds(s float64) time.Duration { return time.Duration(math.Round(s * 1e9)) }

func TestIntervals(t *testing.T) {
	for _, tc := range []struct {
		name      string
		perSecond float64
		groups    []pace.Group
		want      pace.Forecast
	}{
		{"no accounts cost nothing", 0, nil, pace.Forecast{Feasible: true}},
		{"one account: waits are uniform in the interval", 9,
			[]pace.Group{{Accounts: 1, Rate: 0.1, Interval: 100 * time.Second}},
			pace.Forecast{Mean: seconds(50), P95: seconds(95), CallsPerMinute: 0.6, LongestInterval: seconds(100), Feasible: true}},
		{"groups count by their posts, and calls by their accounts", 9,
			[]pace.Group{{Accounts: 10, Rate: 0.1, Interval: 10 * time.Second}, {Accounts: 30, Rate: 0.1, Interval: 100 * time.Second}},
			pace.Forecast{Mean: seconds(38.75), P95: seconds(280.0 / 3), CallsPerMinute: 78, LongestInterval: seconds(100), Feasible: true}},
		{"accounts that never post cost calls only", 9,
			[]pace.Group{{Accounts: 1, Rate: 1, Interval: 10 * time.Second}, {Accounts: 1, Interval: 20 * time.Second}},
			pace.Forecast{Mean: seconds(5), P95: seconds(9.5), CallsPerMinute: 9, LongestInterval: seconds(20), Feasible: true}},
		{"no posts, no latency", 9,
			[]pace.Group{{Accounts: 2, Rate: math.NaN(), Interval: 10 * time.Second}, {Accounts: 2, Rate: math.Inf(1), Interval: 10 * time.Second}},
			pace.Forecast{CallsPerMinute: 24, LongestInterval: seconds(10), Feasible: true}},
		{"left out without accounts or interval", 9,
			[]pace.Group{{Rate: 1, Interval: time.Hour}, {Accounts: 9, Rate: 1}, {Accounts: 1, Rate: 1, Interval: time.Second}},
			pace.Forecast{Mean: seconds(0.5), P95: seconds(0.95), CallsPerMinute: 60, LongestInterval: seconds(1), Feasible: true}},
		{"as many as the calls allow", 1,
			[]pace.Group{{Accounts: 10, Rate: 0.1, Interval: 10 * time.Second}},
			pace.Forecast{Mean: seconds(5), P95: seconds(9.5), CallsPerMinute: 60, LongestInterval: seconds(10), Feasible: true}},
		{"more than the calls allow: each poll is late by the same time", 0.5, // 1/4 + 1/4 = 2/8 + 6/24
			[]pace.Group{{Accounts: 2, Rate: 1, Interval: 2 * time.Second}, {Accounts: 6, Rate: 1, Interval: 18 * time.Second}, {Rate: 9, Interval: 1}, {Accounts: 9, Rate: 9}},
			pace.Forecast{Mean: seconds((2*8 + 6*24) / 16.0), P95: seconds(24 * (0.95*8 - 2) / 6), CallsPerMinute: 30, LongestInterval: seconds(24), Shortfall: 60 * (1 + 1/3.0 - 0.5)}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			checkForecast(t, pace.IntervalsWithin(tc.groups, tc.perSecond), tc.want)
			if tc.want.Feasible {
				checkForecast(t, pace.Intervals(tc.groups), tc.want)
			}
		})
	}
}

// hour gives groups a Max of an hour where they have none.
func hour(groups []pace.Group) []pace.Group {
	for i := range groups {
		if groups[i].Max == 0 {
			groups[i].Max = time.Hour
		}
	}
	return groups
}

// The rates 1 and busy are polled at intervals of 4 to 1, by the power of 0.42.
func TestBudget(t *testing.T) {
	busy := math.Pow(4, 1/0.42)
	one := 1.0
	for _, tc := range []struct {
		name   string
		budget float64
		groups []pace.Group
		want   pace.Forecast
	}{
		{"no accounts cost nothing", one, nil, pace.Forecast{Feasible: true}},
		{"groups without accounts are left out", one, []pace.Group{{Rate: 1, Max: 1e9 * time.Second}}, pace.Forecast{Feasible: true}},
		{"one account gets it all", 0.1, []pace.Group{{Accounts: 1, Rate: 1}},
			pace.Forecast{Mean: seconds(5), P95: seconds(9.5), CallsPerMinute: 6, LongestInterval: seconds(10), Feasible: true}},
		{"equal accounts share equally", one, hour([]pace.Group{{Accounts: 30, Rate: 1e-4}, {Accounts: 70, Rate: 1e-4}}),
			pace.Forecast{Mean: seconds(50), P95: seconds(95), CallsPerMinute: 60, LongestInterval: seconds(100), Feasible: true}},
		{"the busy are polled more often", one, hour([]pace.Group{{Accounts: 2, Rate: 1e-3}, {Accounts: 2, Rate: busy * 1e-3}}),
			pace.Forecast{Mean: seconds((10 + busy*2.5) / 2 / (1 + busy)), P95: seconds(0.95 * (1 + busy) / (1/10.0 + busy/2.5)), CallsPerMinute: 60, LongestInterval: seconds(10), Feasible: true}},
		{"a weight counts as a rate does, and not in the mean", one, hour([]pace.Group{{Accounts: 2, Rate: 1e-3}, {Accounts: 2, Rate: 1e-3, Weight: busy}}),
			pace.Forecast{Mean: seconds(12.5 / 4), P95: seconds(9), CallsPerMinute: 60, LongestInterval: seconds(10), Feasible: true}},
		{"a Max is kept, and others pay for it", one, hour([]pace.Group{{Accounts: 1, Rate: 1e-3, Max: 2 * time.Second}, {Accounts: 1, Rate: 1}}),
			pace.Forecast{Mean: seconds(1), P95: seconds(1.9), CallsPerMinute: 60, LongestInterval: seconds(2), Feasible: true}},
		{"a Min is kept, and others gain", one, hour([]pace.Group{{Accounts: 1, Rate: 1, Min: 10 * time.Second}, {Accounts: 9, Rate: 1e-3}}),
			pace.Forecast{Mean: seconds((10 + 0.009*10) / 2 / 1.009), P95: seconds(9.5), CallsPerMinute: 60, LongestInterval: seconds(10), Feasible: true}},
		{"a Min goes before the default Max", one, []pace.Group{{Accounts: 1, Rate: 1, Min: 10 * time.Second}},
			pace.Forecast{Mean: seconds(5), P95: seconds(9.5), CallsPerMinute: 6, LongestInterval: seconds(10), Feasible: true}},
		{"nobody waits more than 2.2 equal shares by default", 1, []pace.Group{{Accounts: 100, Rate: 1e-9}, {Accounts: 100, Rate: 1}},
			pace.Forecast{Mean: seconds(440 / 2 / 3.4), P95: seconds(0.95 * 440 / 3.4), CallsPerMinute: 60, LongestInterval: seconds(440), Feasible: true}},
		{"what the default Min does not allow is not spent", 1e9, []pace.Group{{Accounts: 3, Rate: 1}, {Accounts: 1, Rate: 9, Min: 4 * time.Second}},
			pace.Forecast{Mean: seconds((3 + 36.0) / 24), P95: seconds(4 * (0.95*12 - 3) / 9), CallsPerMinute: 195, LongestInterval: seconds(4), Feasible: true}},
		{"the silent get what the others leave", one, hour([]pace.Group{{Accounts: 1, Rate: 1, Min: 2 * time.Second}, {Accounts: 5}}),
			pace.Forecast{Mean: seconds(1), P95: seconds(1.9), CallsPerMinute: 60, LongestInterval: seconds(10), Feasible: true}},
		{"all silent share equally", one, hour([]pace.Group{{Accounts: 3}, {Accounts: 2}}),
			pace.Forecast{CallsPerMinute: 60, LongestInterval: seconds(5), Feasible: true}},
		{"bounds that take just the budget fit", 0.3, // 0.1 + 0.1 + 0.1 > 0.3
			[]pace.Group{{Accounts: 1, Rate: 1, Max: 10 * time.Second}, {Accounts: 1, Rate: 1, Max: 10 * time.Second}, {Accounts: 1, Rate: 1, Max: 10 * time.Second}},
			pace.Forecast{Mean: seconds(5), P95: seconds(9.5), CallsPerMinute: 18, LongestInterval: seconds(10), Feasible: true}},
		{"bounds that do not fit: each poll is late by the same time", 0.5, // 1/4 + 1/4 = 2/8 + 6/24
			[]pace.Group{{Accounts: 2, Rate: 1, Max: 2 * time.Second}, {Accounts: 6, Rate: 1, Max: 18 * time.Second}},
			pace.Forecast{Mean: seconds((2*8 + 6*24) / 16.0), P95: seconds(24 * (0.95*8 - 2) / 6), CallsPerMinute: 30, LongestInterval: seconds(24), Shortfall: 60 * (1 + 1/3.0 - 0.5)}},
		{"intervals end where a Duration does", 1e-11, []pace.Group{{Accounts: 1, Rate: 1, Max: math.MaxInt64}},
			pace.Forecast{Mean: math.MaxInt64, P95: math.MaxInt64, LongestInterval: math.MaxInt64}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := pace.Budget(tc.groups, tc.budget)
			if err != nil {
				t.Fatal(err)
			}
			checkForecast(t, got, tc.want)
		})
	}
}

func TestBudgetNotAllowed(t *testing.T) {
	for _, tc := range []struct {
		want string
		g    pace.Group
	}{
		{"Accounts -1", pace.Group{Accounts: -1}},
		{"Rate -1", pace.Group{Rate: -1}},
		{"Rate NaN", pace.Group{Rate: math.NaN()}},
		{"Rate +Inf", pace.Group{Rate: math.Inf(1)}},
		{"Weight -1", pace.Group{Weight: -1}},
		{"Weight +Inf", pace.Group{Weight: math.Inf(1)}},
		{"Min -1ns", pace.Group{Min: -1}},
		{"Max -1ns", pace.Group{Max: -1}},
		{"Max 500ms", pace.Group{Max: 500 * time.Millisecond}}, // below the default Min
		{"Max 1s", pace.Group{Max: time.Second, Min: time.Minute}},
	} {
		_, err := pace.Budget([]pace.Group{{Accounts: 1, Rate: 1}, tc.g}, 1)
		if want := "pace: groups[1]." + tc.want + " is not allowed"; err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("error %v, want %s", err, want)
		}
	}
	if _, err := pace.Budget(nil, 0); err == nil || !strings.Contains(err.Error(), "budget 0 is not allowed") {
		t.Errorf("error %v without a budget", err)
	}
}

func randomGroups(rng *rand.Rand) (groups []pace.Group, accounts int) {
	for range 1 + rng.IntN(30) {
		g := pace.Group{Accounts: 1 + rng.IntN(50), Rate: 1e-4 * math.Exp(2*rng.NormFloat64())}
		groups = append(groups, g)
		accounts += g.Accounts
	}
	return groups, accounts
}

// More budget never raises the mean, the longest interval or the shortfall, with
// any weights and bounds, and is spent unless the floors are reached.
func TestMoreBudgetIsNeverWorse(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	feasible := map[bool]int{}
	for range 100 {
		groups, _ := randomGroups(rng)
		for i := range groups {
			g := &groups[i]
			g.Weight = rng.Float64()
			g.Min = time.Duration(rng.IntN(2)) * seconds(rng.Float64()*100)
			g.Max = time.Duration(rng.IntN(2)) * (g.Min + seconds(1+rng.Float64()*3000))
		}
		const most = math.MaxInt64 - 1
		before := pace.Forecast{Mean: most, P95: most, LongestInterval: most, Shortfall: math.Inf(1)}
		for budget := 0.01; budget < 1e4; budget *= 1 + 3*rng.Float64() {
			f, err := pace.Budget(groups, budget)
			if err != nil {
				t.Fatal(err)
			}
			if f.Mean > before.Mean+1 || f.P95 > before.P95+1 || f.LongestInterval > before.LongestInterval+1 || f.Shortfall > before.Shortfall+1e-6 {
				t.Fatalf("budget %g of %+v:\n%+v, with less it was\n%+v", budget, groups, f, before)
			}
			if f.CallsPerMinute > 60*budget*(1+1e-6) || f.CallsPerMinute < before.CallsPerMinute*(1-1e-6) || f.Feasible != (f.Shortfall == 0) {
				t.Fatalf("budget %g: %+v, with less %+v", budget, f, before)
			}
			before = f
			feasible[f.Feasible]++
		}
	}
	if feasible[true] < 100 || feasible[false] < 100 {
		t.Errorf("%d feasible and %d infeasible cases are too few", feasible[true], feasible[false])
	}
}

// For the calls that one interval for all costs, the policy never does worse.
func TestBudgetBeatsOneInterval(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for range 300 {
		groups, accounts := randomGroups(rng)
		every := seconds(1 + 1000*rng.Float64())
		for i := range groups {
			groups[i].Interval = every
		}
		fixed := pace.Intervals(groups)
		f, err := pace.Budget(groups, fixed.CallsPerMinute/60)
		if err != nil {
			t.Fatal(err)
		}
		if f.Mean.Seconds() > fixed.Mean.Seconds()*(1+1e-9) || !near(f.CallsPerMinute, fixed.CallsPerMinute) {
			t.Fatalf("%d accounts: %+v, with one interval %+v", accounts, f, fixed)
		}
	}
}

// Ten busy accounts and ninety that post twice a day are polled every five
// minutes. The same calls find posts earlier when more of them go to the busy.
func ExampleBudget() {
	groups := []pace.Group{
		{Accounts: 10, Rate: 100.0 / 86_400, Interval: 5 * time.Minute},
		{Accounts: 90, Rate: 2.0 / 86_400, Interval: 5 * time.Minute},
	}
	now := pace.Intervals(groups)
	planned, err := pace.Budget(groups, now.CallsPerMinute/60)
	if err != nil {
		panic(err)
	}
	for _, f := range []pace.Forecast{now, planned} {
		fmt.Printf("mean %s, 95 %% within %s, %.0f calls a minute, at most %s between polls\n",
			f.Mean.Round(time.Second), f.P95.Round(time.Second), f.CallsPerMinute, f.LongestInterval.Round(time.Second))
	}
	// Output:
	// mean 2m30s, 95 % within 4m45s, 20 calls a minute, at most 5m0s between polls
	// mean 1m7s, 95 % within 4m46s, 20 calls a minute, at most 7m5s between polls
}
