package fetcher

// Billed counts what a platform charges for in an answer, where it bills what it
// returns. What is free, or billed already, such as a post that is charged for once a
// day, is not counted.
type Billed struct {
	Posts  int64 // posts returned, those that the engine knew included
	Users  int64 // accounts returned
	Events int64 // what a stream pushed, if it is not billed as a post
}

// Plus returns the sum of both.
func (b Billed) Plus(o Billed) Billed {
	return Billed{Posts: b.Posts + o.Posts, Users: b.Users + o.Users, Events: b.Events + o.Events}
}

// Prices are what a platform charges for each of Billed, in its own currency. The zero
// value is for a platform that charges nothing.
type Prices struct {
	Post, User, Event float64
}

// Cost is the price of b.
func (p Prices) Cost(b Billed) float64 {
	return float64(b.Posts)*p.Post + float64(b.Users)*p.User + float64(b.Events)*p.Event
}
