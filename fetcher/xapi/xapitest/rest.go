package xapitest

import "net/http"

// DefaultLimits returns the number of calls that an app may make to each endpoint in 15 minutes
// (docs.x.com/x-api/fundamentals/rate-limits). The keys are paths. Streams are not included.
func DefaultLimits() map[string]int {
	return map[string]int{pathTimeline: 10_000, pathUsers: 300, pathUsersBy: 300, pathSearch: 450, pathList: 900,
		getRules: 450, postRules: 100, getSubscriptions: 500, postSubscriptions: 500, deleteSubscriptions: 500, deleteConnections: 25}
}

// The paths of endpoints, for DefaultLimits and Calls.
const (
	pathTimeline = "/2/users/:id/tweets"
	pathUsers    = "/2/users"
	pathUsersBy  = "/2/users/by"
	pathSearch   = "/2/tweets/search/recent"
	pathList     = "/2/lists/:id/tweets"

	getRules            = "GET /2/tweets/search/stream/rules"
	postRules           = "POST /2/tweets/search/stream/rules"
	getSubscriptions    = "GET /2/activity/subscriptions"
	postSubscriptions   = "POST /2/activity/subscriptions"
	deleteSubscriptions = "DELETE /2/activity/subscriptions"
	deleteConnections   = "DELETE /2/connections/{kind}"
)

func (s *Server) routes() {
	s.handle("GET /2/users/{id}/tweets", pathTimeline, timeline)
	s.handle("GET /2/users", pathUsers, usersByID)
	s.handle("GET /2/users/by", pathUsersBy, usersByName)
	s.handle("GET /2/tweets/search/recent", pathSearch, search)
	s.handle("GET /2/lists/{id}/tweets", pathList, list)
}

// handle adds an endpoint. For each valid call within the limit it calls f with s.mu held.
func (s *Server) handle(pattern, path string, f func(*call)) {
	s.mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
		limit := s.cfg.Limits[path]
		s.mu.Lock()
		s.calls[path]++
		s.mu.Unlock()
		if limit > 0 && !s.take(w, path, limit) {
			return
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		if c := (&call{s: s, w: w, r: r, query: r.URL.Query()}); !c.refuses() {
			f(c)
		}
	})
}

// Calls returns the number of calls of an endpoint, including refused calls. path is a key of
// DefaultLimits.
func (s *Server) Calls(path string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.calls[path]
}
