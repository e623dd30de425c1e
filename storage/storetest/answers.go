package storetest

import (
	"fmt"
	"strings"
	"time"

	"github.com/streamwatch/streamwatch/fleet"
	"github.com/streamwatch/streamwatch/storage"
)

// onKeyed returns a case for a storage.Keyed. Other stores skip it.
func onKeyed(name string, run func(*storeTest)) storeCase {
	return storeCase{name: name, run: func(t *storeTest) {
		if _, ok := t.store.(storage.Keyed); !ok {
			t.Skip("the store is no storage.Keyed")
		}
		run(t)
	}}
}

// onDurableKeyed is onKeyed for stores that are Durable, too.
func onDurableKeyed(name string, run func(*storeTest)) storeCase {
	c := onKeyed(name, run)
	c.needs = needsDurable
	return c
}

// twiceKeyed is twice for stores that are a storage.Keyed.
func twiceKeyed(run func(one, two *storeTest)) func(*storeTest) {
	return func(t *storeTest) { t.besides(func(two *storeTest) { run(t, two) }) }
}

func (t *storeTest) answers() fleet.Answers { return t.store.(storage.Keyed).Answers() }

// request returns a request of an owner that the node by wants to carry out.
func request(owner, id, by string) fleet.Request {
	return fleet.Request{Owner: owner, ID: id, Asked: "what " + id + " asks for", By: by, Lease: time.Minute}
}

// begin begins a request. It returns the stored answer as by:text. If there is none, it returns
// "mine": the caller must carry the request out.
func (t *storeTest) begin(q fleet.Request) string {
	t.Helper()
	a, err := t.answers().Begin(t.Context(), q)
	t.ok(err, "Answers.Begin of "+q.ID)
	if a == nil {
		return "mine"
	}
	return a.By + ":" + string(a.Text)
}

// notBegun fails the case unless Begin returns that error.
func (t *storeTest) notBegun(q fleet.Request, want error, rule string, args ...any) {
	t.Helper()
	a, err := t.answers().Begin(t.Context(), q)
	t.refused(err, want, rule, args...)
	expect(t, a == nil, true, "Begin gave an answer beside an error")
}

func (t *storeTest) finish(q fleet.Request, text string) {
	t.Helper()
	t.ok(t.answers().Finish(t.Context(), q, []byte(text)), "Answers.Finish of "+q.ID)
}

// answered begins and finishes a request.
func (t *storeTest) answered(owner, id, text string) {
	t.Helper()
	q := request(owner, id, "a")
	expect(t, t.begin(q), "mine", "Begin of a new request has to leave it to the caller")
	t.finish(q, text)
}

// answerCases test which node carries a request out, and what the other nodes get.
func answerCases() []storeCase {
	a, b := request("acme", "q", "a"), request("acme", "q", "b")
	return []storeCase{
		onKeyed("a request is carried out once, and its answer is everybody's", twiceKeyed(func(one, two *storeTest) {
			t := one
			expect(t, one.begin(a), "mine", "Begin of a new request has to leave it to the caller")
			two.notBegun(b, fleet.ErrUnderWay, "Begin left a request to another one while it is under way")
			one.finish(a, "text")
			expect(t, two.begin(b), "a:text", "Begin has to give the answer, and who got it")
			expect(t, one.begin(a), "a:text", "Begin has to give the answer to who got it, too")
		})),
		onKeyed("Begin and Finish again change nothing", func(t *storeTest) {
			expect(t, t.begin(a), "mine", "Begin of a new request has to leave it to the caller")
			expect(t, t.begin(a), "mine", "Begin again, as after a lost answer, has to leave the request to who has begun it")
			t.finish(a, "text")
			t.finish(a, "another text")
			expect(t, t.begin(b), "a:text", "Finish again replaced the answer")
			t.finish(a, "")
			expect(t, t.begin(b), "a:text", "Finish again removed the answer")
		}),
		onKeyed("a request that is given up is free", func(t *storeTest) {
			expect(t, t.begin(a), "mine", "Begin of a new request has to leave it to the caller")
			t.finish(a, "")
			other := b
			other.Asked = "something else"
			expect(t, t.begin(other), "mine", "Finish with an empty text has to forget the request")
			t.refused(t.answers().Finish(t.Context(), a, []byte("late")), fleet.ErrNotBegun, "Finish took the answer of who had given the request up")
		}),
		onKeyed("an id is that of one request", func(t *storeTest) {
			other := b
			other.Asked = "something else"
			expect(t, t.begin(a), "mine", "Begin of a new request has to leave it to the caller")
			t.notBegun(other, fleet.ErrOtherRequest, "Begin took another request for the one that is under way")
			t.finish(a, "text")
			t.notBegun(other, fleet.ErrOtherRequest, "Begin took another request for the one that was answered")
			expect(t, t.begin(b), "a:text", "a refused Begin changed the answer")
		}),
		onKeyed("only who has begun a request finishes it", func(t *storeTest) {
			t.refused(t.answers().Finish(t.Context(), a, []byte("text")), fleet.ErrNotBegun, "Finish took the answer to a request that nobody has begun")
			expect(t, t.begin(a), "mine", "Begin of a new request has to leave it to the caller")
			for _, text := range []string{"text", ""} {
				t.refused(t.answers().Finish(t.Context(), b, []byte(text)), fleet.ErrNotBegun, "Finish took the answer %q of who has not begun the request", text)
			}
			t.notBegun(b, fleet.ErrUnderWay, "a refused Finish changed the request")
		}),
		onKeyed("requests and texts are any text", func(t *storeTest) {
			for i, pair := range [][2]string{{"acme", "b:c"}, {"acme:b", "c"}, {"acme\x00", "c"}, {"acme", "\x00c"}, {"", ""}, {"żółw", "🚀'\"%*"}} {
				text := fmt.Sprint("{\"n\":", i, "}\x00\xff\n")
				t.answered(pair[0], pair[1], text)
				expect(t, t.begin(request(pair[0], pair[1], "b")), "a:"+text, "the answer of %q to %q did not survive", pair[0], pair[1])
			}
			long := strings.Repeat("long ", 1<<17)
			t.answered("acme", "long", long)
			expect(t, len(t.begin(request("acme", "long", "b"))), len(long)+2, "an answer of 640 KiB did not survive")
		}),
		onKeyed("of concurrent requests one is carried out", twiceKeyed(func(one, two *storeTest) {
			oneOf(one, fleet.ErrUnderWay, "Answers.Begin of one request", func(i int) error {
				_, err := []*storeTest{one, two}[i%2].answers().Begin(one.Context(), request("acme", "raced", fmt.Sprint(i)))
				return err
			})
		})),
		onDurableKeyed("answers and requests under way survive a restart", func(t *storeTest) {
			t.answered("acme", "done", "text")
			expect(t, t.begin(a), "mine", "Begin of a new request has to leave it to the caller")
			t.reopen()
			expect(t, t.begin(request("acme", "done", "b")), "a:text", "an answer did not survive Reopen")
			t.notBegun(b, fleet.ErrUnderWay, "a request under way did not survive Reopen")
			t.finish(a, "late")
			expect(t, t.begin(b), "a:late", "Finish after Reopen did not store the answer")
		}),
	}
}

// answerBoundCases test how long answers and leases last, and how many answers are kept.
func answerBoundCases() []storeCase {
	a, b := request("acme", "q", "a"), request("acme", "q", "b")
	timed := func(name string, run func(*storeTest)) storeCase {
		c := onKeyed(name, run)
		c.needs |= needsClock
		return c
	}
	return []storeCase{
		timed("after its lease a request is another one's", func(t *storeTest) {
			expect(t, t.begin(a), "mine", "Begin of a new request has to leave it to the caller")
			t.kit.Clock.Advance(a.Lease - time.Microsecond)
			t.notBegun(b, fleet.ErrUnderWay, "Begin left a request to another one before its lease was over")
			t.kit.Clock.Advance(time.Microsecond)
			other := b
			other.Asked = "something else"
			expect(t, t.begin(other), "mine", "Begin has to leave a request to the caller when its lease is over, whatever it asks for")
			t.refused(t.answers().Finish(t.Context(), a, []byte("late")), fleet.ErrNotBegun, "Finish took the answer of who had lost the request")
			t.finish(other, "text")
			expect(t, t.begin(other), "b:text", "Begin has to give the answer of who took the request over")
		}),
		timed("an answer lasts for a day", func(t *storeTest) {
			t.answered("acme", "q", "text")
			t.kit.Clock.Advance(fleet.AnswerLast - time.Microsecond)
			expect(t, t.begin(b), "a:text", "an answer was forgotten within %s", fleet.AnswerLast)
			t.kit.Clock.Advance(time.Microsecond)
			expect(t, t.begin(b), "mine", "an answer was kept for more than %s", fleet.AnswerLast)
			t.finish(b, "new")
			expect(t, t.begin(a), "b:new", "Begin has to give the new answer")
		}),
		onKeyed("the newest answers of an owner are kept, and those of others", func(t *storeTest) {
			t.answered("globex", "theirs", "text")
			expect(t, t.begin(a), "mine", "Begin of a new request has to leave it to the caller")
			for i := range fleet.MaxAnswersOf {
				t.answered("acme", fmt.Sprint(i), "text")
			}
			expect(t, t.begin(request("acme", "0", "b")), "a:text", "an answer was forgotten among %d of its owner", fleet.MaxAnswersOf)
			t.finish(a, "text")
			expect(t, t.begin(request("acme", "0", "b")), "mine", "more than %d answers of an owner are kept", fleet.MaxAnswersOf)
			expect(t, t.begin(request("acme", "1", "b")), "a:text", "more than the oldest answer was forgotten")
			expect(t, t.begin(b), "a:text", "the newest answer was forgotten")
			expect(t, t.begin(request("globex", "theirs", "b")), "a:text", "the answers of one owner displaced another one's")
		}),
		onKeyed("beyond the bytes of all answers the oldest are forgotten", func(t *storeTest) {
			const size = 8 << 20
			text := strings.Repeat("x", size)
			for i := range fleet.MaxAnswerBytes / size {
				t.answered(fmt.Sprint("owner ", i), "q", text)
			}
			expect(t, len(t.begin(request("owner 0", "q", "b"))), size+2, "an answer was forgotten though all are within %d bytes", fleet.MaxAnswerBytes)
			t.answered("acme", "q", "one more")
			expect(t, t.begin(request("owner 0", "q", "b")), "mine", "more than %d bytes of answers are kept", fleet.MaxAnswerBytes)
			expect(t, len(t.begin(request("owner 1", "q", "b"))), size+2, "more than the oldest answer was forgotten")
			expect(t, t.begin(b), "a:one more", "the newest answer was forgotten")
		}),
	}
}
