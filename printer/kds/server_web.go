package kds

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"time"
)

//go:embed web
var webFolder embed.FS

// webFiles are the scripts and styles of the pages. Their path names their content, so a
// browser may keep them for ever and never mixes those of two versions.
type webFiles struct {
	tag, base string
	files     map[string][]byte
}

func newWebFiles() *webFiles {
	w := &webFiles{files: map[string][]byte{}}
	sum := sha256.New()
	list, _ := fs.ReadDir(webFolder, "web") // embedded: it is there
	for _, e := range list {
		b, err := webFolder.ReadFile("web/" + e.Name())
		if err != nil {
			continue
		}
		_, _ = sum.Write([]byte(e.Name()))
		_, _ = sum.Write(b)
		if path.Ext(e.Name()) != ".html" {
			w.files[e.Name()] = b
		}
	}
	w.tag = hex.EncodeToString(sum.Sum(nil)[:6])
	w.base = "/web/" + w.tag + "/"
	return w
}

func (f *webFiles) serve(w http.ResponseWriter, r *http.Request) {
	b, ok := f.files[r.PathValue("file")]
	if !ok {
		http.NotFound(w, r)
		return
	}
	h := w.Header()
	h.Set("Content-Type", contentType(r.PathValue("file")))
	if r.PathValue("tag") == f.tag {
		h.Set("Cache-Control", "public, max-age=31536000, immutable")
	}
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(b))
}

// mimeOf does not ask the machine for what it needs: browsers refuse a module of another type.
func contentType(name string) string {
	switch path.Ext(name) {
	case ".js":
		return "text/javascript; charset=utf-8"
	case ".css":
		return "text/css; charset=utf-8"
	case ".svg":
		return "image/svg+xml"
	}
	return mime.TypeByExtension(path.Ext(name))
}
