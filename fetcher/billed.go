package fetcher

// Billed counts the items of an answer that the platform charges for. It leaves out free items.
// It also leaves out items already charged for, if the platform charges, for example, only once
// a day for a post.
type Billed struct {
	Posts  int64 // posts returned, including those that the engine knew
	Users  int64 // accounts returned
	Events int64 // signals of a stream, if they are not billed as posts
}

// Plus returns the sum of b and o.
func (b Billed) Plus(o Billed) Billed {
	return Billed{Posts: b.Posts + o.Posts, Users: b.Users + o.Users, Events: b.Events + o.Events}
}

// Prices are the prices of the items counted by Billed, in the platform's own currency. The
// zero value is right for a platform that charges nothing.
type Prices struct {
	Post, User, Event float64
}

// Cost returns the price of all items in b.
func (p Prices) Cost(b Billed) float64 {
	return float64(b.Posts)*p.Post + float64(b.Users)*p.User + float64(b.Events)*p.Event
}
