package detect

import (
	"fmt"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/rule/query"
)

func program(text string) *query.Program {
	p, _, err := query.Parse(text, query.Options{})
	if err != nil {
		panic(err)
	}
	return p
}

// However many rules watch one account, and while they come, change and go, each
// gets what its own query says, and a monitor beside them everything.
func TestManyRulesOfOneAccount(t *testing.T) {
	for _, rules := range []int{1, 9, 300} {
		t.Run(fmt.Sprint(rules), func(t *testing.T) {
			inQueries(t, func(c *settings) { c.Shards = 1 }, func(t *testing.T, w *searchable, d *Detector) {
				set(t, d, sub("m", "nasa", "esa"))
				var want []string
				q := func(i, word int) QuerySubscription {
					s := asks(fmt.Sprint("r", i), fmt.Sprintf("word%d from:nasa", word))
					s.Authors, s.Answers = []string{"nasa"}, program(s.Query)
					return s
				}
				say := func(account, id string, words ...int) {
					text := ""
					for _, n := range words {
						text += fmt.Sprintf("word%d ", n)
					}
					w.say(account, text+id, 0)
					want = append(want, "m:"+id)
					after(11 * time.Second)
				}
				for i := range rules {
					setQuery(t, d, q(i, i))
				}
				say("nasa", "first", 0, rules-1)
				want = append(want, "r0:first")
				if rules > 1 {
					want = append(want, fmt.Sprintf("r%d:first", rules-1))
				}
				w.say("nasa", "word0 pair", 0) // both in one poll
				say("nasa", "of-posts")
				want = append(want, "m:pair", "r0:pair")
				say("esa", "other", 0)
				setQuery(t, d, q(0, 1000)) // another query
				after(11 * time.Second)
				say("nasa", "second", 0)
				say("nasa", "third", 1000)
				want = append(want, "r0:third")
				if err := d.RemoveQuery(t.Context(), "r0"); err != nil {
					t.Fatal(err)
				}
				say("nasa", "fourth", 1000)
				wantSorted(t, w, want...)
				if n := d.shards[0].Accounts.Programs(); n != rules-1 {
					t.Errorf("%d programs are kept of %d rules", n, rules-1)
				}
			})
		})
	}
}
