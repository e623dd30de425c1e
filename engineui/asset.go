package engineui

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"net/http"
	"time"
)

//go:embed assets/console.css
var styleSheet []byte

//go:embed assets/console.js
var script []byte

//go:embed assets/icon.svg
var icon []byte

// asset is a file that is the same for all viewers.
type asset struct {
	name string
	text []byte
	etag string
}

var assets = map[string]*asset{
	"console.css": newAsset("console.css", styleSheet),
	"console.js":  newAsset("console.js", script),
	"icon.svg":    newAsset("icon.svg", icon),
}

func newAsset(name string, text []byte) *asset {
	sum := sha256.Sum256(text)
	return &asset{name, text, `"` + hex.EncodeToString(sum[:8]) + `"`}
}

func (a *asset) serve(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Cache-Control", "no-cache") // browsers store it, and revalidate it by its ETag
	w.Header().Set("ETag", a.etag)
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, "want GET", http.StatusMethodNotAllowed)
		return
	}
	http.ServeContent(w, r, a.name, time.Time{}, bytes.NewReader(a.text))
}
