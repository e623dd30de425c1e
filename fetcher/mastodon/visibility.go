package mastodon

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/streamwatch/streamwatch/fetcher"
)

// visibilities are the API's visibilities of posts, each seen by fewer people than the one
// before.
var visibilities = []string{"public", "unlisted", "private", "direct"}

// audience is the index in visibilities of the last one that is delivered.
type audience int

// audienceOf returns the audience of a setting. field names it in the error.
func audienceOf(field, visibility string) (audience, error) {
	i := slices.Index(visibilities, cmp.Or(visibility, "unlisted"))
	if i < 0 {
		return 0, fmt.Errorf("mastodon: %s %.40q is not allowed: want public, unlisted, private or direct", field, visibility)
	}
	return audience(i), nil
}

// withheld reports whether a post is for fewer people than the audience.
func (a audience) withheld(t fetcher.Tweet) bool { return rank(t.Visibility) > a }

// rank returns a visibility's index. A post without one is public. Those that only some servers
// have, such as local, mutuals_only and list:1, rank as private.
func rank(visibility string) audience {
	if i := slices.Index(visibilities, cmp.Or(visibility, "public")); i >= 0 {
		return audience(i)
	}
	return audience(slices.Index(visibilities, "private"))
}

// visibility returns the post's visibility. For a boost it is that of the boosted post if fewer
// people can see it.
func (s *status) visibility() string {
	if s.Reblog != nil && rank(s.Reblog.Visibility) > rank(s.Visibility) {
		return s.Reblog.Visibility
	}
	return s.Visibility
}
