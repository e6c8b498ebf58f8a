package kds

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"io/fs"
	"net/http"
	"path"
)

//go:embed web
var webFolder embed.FS

// webFiles are the scripts and styles of the pages. Their path contains a hash of their content, so
// a browser may cache them for ever and never mixes the files of two versions.
type webFiles struct {
	tag, base string
}

// newWebFiles reads the embedded files. The tag covers templates too: a page of another version
// reloads itself even if only its HTML changed.
func newWebFiles() *webFiles {
	sum := sha256.New()
	list, _ := fs.ReadDir(webFolder, "web") // embedded: it cannot fail
	for _, e := range list {
		body, _ := webFolder.ReadFile("web/" + e.Name())
		_, _ = sum.Write([]byte(e.Name()))
		_, _ = sum.Write(body)
	}

	tag := hex.EncodeToString(sum.Sum(nil)[:6])
	return &webFiles{tag: tag, base: "/web/" + tag + "/"}
}

// serve answers with one file. A request for another version gets the current file, uncached: a
// page that is older than this program is about to reload anyway, see the setup tag.
func (f *webFiles) serve(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("file")
	kind := contentType(name)
	if kind == "" {
		http.NotFound(w, r)
		return
	}

	header := w.Header()
	header.Set("Content-Type", kind)
	header.Set("Service-Worker-Allowed", "/screen/") // else one could answer only for its own folder
	if r.PathValue("tag") == f.tag {
		header.Set("Cache-Control", "public, max-age=31536000, immutable")
	}

	http.ServeFileFS(w, r, webFolder, "web/"+name)
}

// contentType is empty for what no browser asks for. It does not depend on the computer's own table of types, which may
// be missing or wrong: browsers refuse a module of another type.
func contentType(name string) string {
	return map[string]string{
		".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8", ".svg": "image/svg+xml",
	}[path.Ext(name)]
}
