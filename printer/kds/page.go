package kds

import (
	"bytes"
	"html/template"
	"net/http"
	"sync"

	"ticketrail/printer/kds/board"
)

// templates escape every value for the place where it stands. Nothing here has one of the types
// that switch escaping off (template.HTML and the like).
var templates = sync.OnceValue(func() *template.Template {
	return template.Must(template.ParseFS(webFolder, "web/*.html"))
})

// A templateData is the data of a template.
type templateData struct {
	Web   string            // begins the paths of scripts and styles
	Words map[string]string // of the venue's language
	Page  any               // its own data
}

// A pageView is the data of a page: the JSON that its script draws.
type pageView struct {
	Setup setup
	Tag   string // of the setup; a page with another tag reloads itself
	Beat  beat
	State board.Snapshot
}

// maxRendering is how many pages are rendered at once. After a power cut all screens of a kitchen
// load their page in the same second, and a page with a full board takes half a megabyte until it
// is sent.
const maxRendering = 2

// servePage serves the page of a screen. It contains the board of this moment as JSON, so that the script
// can draw it before any other request is answered.
func (s *Server) servePage(w http.ResponseWriter, r *http.Request, view *screenView, g *grant) {
	// Each visit prolongs the cookie, so a screen in use is never unpaired by age.
	g.renew(w, r)
	s.serveTemplate(w, r, "page.html", pageView{Setup: view.setup, Tag: view.Tag,
		Beat: view.newBeat(), State: view.orders.Snapshot()})
}

// serveTemplate renders a template and answers with it.
func (s *Server) serveTemplate(w http.ResponseWriter, r *http.Request, name string, page any) {
	select {
	case s.renderSlots <- struct{}{}:
	case <-r.Context().Done():
		return // the browser has gone
	}

	var b bytes.Buffer
	_, language := s.kitchen()
	err := templates().ExecuteTemplate(&b, name, templateData{s.web.base, wordsIn(language), page})
	<-s.renderSlots // it is sent without the slot: a slow reader must not block other pages
	if err != nil {
		s.log.Error("cannot render a page", "page", name, "err", err)
		http.Error(w, "internal error", http.StatusInternalServerError)
		return
	}

	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = w.Write(b.Bytes())
}
