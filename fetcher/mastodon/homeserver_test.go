package mastodon_test

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"html"
	"net/http"
	"sync"
	"time"

	"github.com/coder/websocket"

	"github.com/streamwatch/streamwatch/fetcher/internal/sockettest"
)

// homeServer is a Mastodon with one user, who posts, edits and deletes.
type homeServer struct {
	*http.ServeMux
	token   string
	streams *sockettest.Feed

	mu    sync.Mutex
	posts []homePost // newest first
	made  int
}

type homePost struct {
	id, text string
	at       time.Time
}

func newHomeServer() *homeServer {
	h := &homeServer{ServeMux: http.NewServeMux(), token: "user-token", streams: sockettest.NewFeed(websocket.MessageText)}
	h.HandleFunc("GET /api/v2/instance", func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, `{"version":"4.5.0","configuration":{"urls":{"streaming":"ws://%s"}}}`, r.Host)
	})
	h.HandleFunc("GET /api/v1/accounts/verify_credentials", h.user(func(w http.ResponseWriter, _ *http.Request) { h.answer(w, h.account()) }))
	h.HandleFunc("GET /api/v1/accounts/lookup", func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("acct") != "ann" {
			http.Error(w, `{"error":"Record not found"}`, http.StatusNotFound)
			return
		}
		h.answer(w, h.account())
	})
	h.HandleFunc("GET /api/v1/accounts", func(w http.ResponseWriter, r *http.Request) {
		list := []any{}
		if r.URL.Query().Get("id[]") == "7" {
			list = append(list, h.account())
		}
		h.answer(w, list)
	})
	h.HandleFunc("GET /api/v1/accounts/7/following", h.user(func(w http.ResponseWriter, _ *http.Request) { h.answer(w, []any{}) }))
	h.HandleFunc("GET /api/v1/accounts/7/statuses", func(w http.ResponseWriter, r *http.Request) {
		list := []any{}
		h.mu.Lock()
		for _, p := range h.posts {
			if r.URL.Query().Get("max_id") == "" {
				list = append(list, p.status())
			}
		}
		h.mu.Unlock()
		b, _ := json.Marshal(list)
		tag := fmt.Sprintf(`W/"%x"`, sha256.Sum256(b))
		w.Header().Set("ETag", tag)
		if r.Header.Get("If-None-Match") == tag {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		w.Write(b)
	})
	h.HandleFunc("POST /api/v1/statuses", h.user(func(w http.ResponseWriter, r *http.Request) {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.made++
		p := homePost{id: fmt.Sprint(114000000000000000 + int64(h.made)), text: r.FormValue("status"), at: time.Now()}
		h.posts = append([]homePost{p}, h.posts...)
		h.push("update", p.status())
		h.answer(w, p.status())
	}))
	h.HandleFunc("PUT /api/v1/statuses/{id}", h.user(func(w http.ResponseWriter, r *http.Request) {
		h.change(w, r, func(i int) {
			h.posts[i].text = r.FormValue("status")
			h.push("status.update", h.posts[i].status())
		})
	}))
	h.HandleFunc("DELETE /api/v1/statuses/{id}", h.user(func(w http.ResponseWriter, r *http.Request) {
		h.change(w, r, func(i int) {
			h.posts = append(h.posts[:i:i], h.posts[i+1:]...)
			h.push("delete", r.PathValue("id"))
		})
	}))
	h.HandleFunc("GET /api/v1/streaming", h.user(func(w http.ResponseWriter, r *http.Request) { h.streams.Serve(w, r, h.streams.Len()) }))
	return h
}

// user serves requests that carry the user's token.
func (h *homeServer) user(next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer "+h.token {
			http.Error(w, `{"error":"The access token is invalid"}`, http.StatusUnauthorized)
			return
		}
		next(w, r)
	}
}

func (h *homeServer) answer(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	json.NewEncoder(w).Encode(v)
}

func (h *homeServer) account() any {
	h.mu.Lock()
	defer h.mu.Unlock()
	return map[string]any{"id": "7", "acct": "ann", "username": "ann", "statuses_count": len(h.posts)}
}

func (p homePost) status() map[string]any {
	return map[string]any{"id": p.id, "created_at": p.at.UTC().Format("2006-01-02T15:04:05.000Z"), "content": "<p>" + html.EscapeString(p.text) + "</p>",
		"account": map[string]string{"id": "7", "acct": "ann", "username": "ann"}}
}

// change calls f with the place of a post that is there.
func (h *homeServer) change(w http.ResponseWriter, r *http.Request, f func(i int)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for i, p := range h.posts {
		if p.id == r.PathValue("id") {
			f(i)
			h.answer(w, p.status())
			return
		}
	}
	http.Error(w, `{"error":"Record not found"}`, http.StatusNotFound)
}

// push sends an event to the streams: its payload is an id, or JSON in a string.
func (h *homeServer) push(event string, payload any) {
	text, isID := payload.(string)
	if !isID {
		b, _ := json.Marshal(payload)
		text = string(b)
	}
	b, _ := json.Marshal(map[string]any{"stream": []string{"user"}, "event": event, "payload": text})
	h.streams.Push(string(b))
}
