package fakeserver

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/streamwatch/streamwatch/enginetest"
	"github.com/streamwatch/streamwatch/fetcher"
)

// Bounds of a page of accounts, as Mastodon has them.
const (
	maxProbed = 40
	pageSize  = 80
)

// userID is the id of the user of any token.
const userID = "1"

// Server is the platform. Its methods are safe for concurrent use.
type Server struct {
	names    []string
	ids      map[string]int // indices of accounts by id
	platform *enginetest.Platform
	mux      *http.ServeMux

	mu      sync.Mutex
	counts  []int // of posts
	clients map[*client]bool
	streams sync.WaitGroup
	closed  bool
}

// New returns a Server with the accounts account0001 and so on.
func New(accounts int, seed uint64) *Server {
	names := enginetest.AccountNames(accounts)
	s := &Server{
		names: names, ids: make(map[string]int, accounts),
		platform: enginetest.NewPlatform(enginetest.PlatformConfig{Seed: seed, Accounts: names, PageSize: 40}),
		mux:      http.NewServeMux(),
		counts:   make([]int, accounts), clients: map[*client]bool{},
	}
	for i := range names {
		s.ids[accountID(i)] = i
	}
	s.mux.HandleFunc("GET /api/v2/instance", func(w http.ResponseWriter, r *http.Request) {
		answer(w, map[string]any{"version": "4.5.0", "configuration": map[string]any{"urls": map[string]string{"streaming": "ws://" + r.Host}}})
	})
	s.mux.HandleFunc("GET /api/v1/accounts", s.byID)
	s.mux.HandleFunc("GET /api/v1/accounts/verify_credentials", func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") == "" {
			refuse(w, http.StatusUnauthorized, "The access token is invalid")
			return
		}
		answer(w, account{ID: userID, Username: "reader", Acct: "reader"})
	})
	s.mux.HandleFunc("GET /api/v1/accounts/"+userID+"/following", s.following)
	s.mux.HandleFunc("GET /api/v1/streaming", s.stream)
	s.mux.Handle("/", s.platform.Handler())
	return s
}

// accountID is the id that package enginetest gives to its i-th account.
func accountID(i int) string { return strconv.Itoa(100_001 + i) }

// Accounts are the handles.
func (s *Server) Accounts() []string { return s.names }

// ServeHTTP answers as the package says.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.mux.ServeHTTP(w, r) }

// Post publishes a text. When Post returns, timelines and probes show the post, and it is queued for
// all streams.
func (s *Server) Post(index int, text string) fetcher.Tweet {
	t := s.platform.Post(s.names[index], text)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.counts[index]++
	s.push(index, &t)
	return t
}

// account is the API's entity Account, as far as lists need it.
type account struct {
	ID       string `json:"id"`
	Username string `json:"username"`
	Acct     string `json:"acct"`
	Statuses int    `json:"statuses_count"`
}

func (s *Server) account(i int) account {
	s.mu.Lock()
	defer s.mu.Unlock()
	return account{accountID(i), s.names[i], s.names[i], s.counts[i]}
}

func (s *Server) byID(w http.ResponseWriter, r *http.Request) {
	asked := r.URL.Query()["id[]"]
	if len(asked) > maxProbed {
		refuse(w, http.StatusUnprocessableEntity, fmt.Sprintf("%d ids: want at most %d", len(asked), maxProbed))
		return
	}
	list := []account{}
	for _, id := range asked {
		if i, ok := s.ids[id]; ok {
			list = append(list, s.account(i))
		}
	}
	answer(w, list)
}

// following lists accounts from max_id on. Here max_id is an index.
func (s *Server) following(w http.ResponseWriter, r *http.Request) {
	from := 0
	if at := r.URL.Query().Get("max_id"); at != "" {
		var err error
		if from, err = strconv.Atoi(at); err != nil || from < 0 || from > len(s.names) {
			refuse(w, http.StatusBadRequest, "max_id is not of this list")
			return
		}
	}
	list := []account{}
	for i := from; i < min(from+pageSize, len(s.names)); i++ {
		list = append(list, s.account(i))
	}
	if next := from + pageSize; next < len(s.names) {
		u := url.URL{Scheme: "http", Host: r.Host, Path: r.URL.Path, RawQuery: url.Values{"max_id": {strconv.Itoa(next)}, "limit": {strconv.Itoa(pageSize)}}.Encode()}
		w.Header().Set("Link", "<"+u.String()+`>; rel="next"`)
	}
	answer(w, list)
}

func answer(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.Header().Set("Date", time.Now().UTC().Format(http.TimeFormat))
	_ = json.NewEncoder(w).Encode(v) // fails only if the client has gone
}

func refuse(w http.ResponseWriter, code int, message string) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(map[string]string{"error": strings.TrimSpace(message)})
}
