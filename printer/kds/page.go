package kds

import (
	"bytes"
	"fmt"
	"html/template"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

// templates escape what they are given for the place where it stands; nothing here is of a
// type that says it needs no escaping.
var templates = sync.OnceValue(func() *template.Template {
	return template.Must(template.ParseFS(webFolder, "web/*.html"))
})

type indexView struct {
	Web      string
	Displays []*screenView
}

type pairingView struct{ Web, Code string }

// A pageView is what a page is made of before its script runs, and what the script begins with.
type pageView struct {
	Web   string
	Setup setup
	Tag   string // of the setup
	Beat  beat
	State any
	Open  int
	Cards []cardView // the first, for the first look
}

// mostDrawn is as many cards as any screen has room for. The script draws the rest.
const maxCardsInPage = 60

// drawnAtATime is how many pages are drawn at once. After a power cut all screens of a kitchen ask
// for theirs in the same second, and one with a full board is half a megabyte until it is sent.
const maxRendering = 2

// page is a screen. It comes with the board in it: as HTML for the first look, as JSON for the
// script, both of the same moment.
func (s *Server) page(w http.ResponseWriter, r *http.Request, view *screenView, g *grant) {
	g.renew(w, r)
	select {
	case s.renderSlots <- struct{}{}:
	case <-r.Context().Done():
		return // nobody waits for it any more
	}
	writePage(w, s.renderPage(view)) // however slowly it is taken, the next one is being drawn
}

// drawPage gives back its place among those that draw.
func (s *Server) renderPage(view *screenView) []byte {
	defer func() { <-s.renderSlots }()
	v := pageView{Web: s.web.base, Setup: view.setup, Tag: view.setupTag, Beat: view.newBeat(), State: view.source.snapshot()}
	now := time.UnixMilli(v.Beat.Now)
	switch state := v.State.(type) {
	case Snapshot:
		v.Open = len(state.Open)
		for _, c := range state.Open[:min(v.Open, maxCardsInPage)] {
			v.Cards = append(v.Cards, view.cardView(c, now))
		}
	case ExpoSnapshot:
		v.Open = len(state.Orders)
		for _, o := range state.Orders[:min(v.Open, maxCardsInPage)] {
			v.Cards = append(v.Cards, view.orderView(o, now))
		}
	}
	return s.render("page.html", v)
}

func (s *Server) serveTemplate(w http.ResponseWriter, name string, v any) {
	writePage(w, s.render(name, v))
}

// draw returns nil for a page that cannot be drawn.
func (s *Server) render(name string, v any) []byte {
	var b bytes.Buffer
	if err := templates().ExecuteTemplate(&b, name, v); err != nil {
		s.log.Error("a page cannot be drawn", "page", name, "err", err)
		return nil
	}
	return b.Bytes()
}

func writePage(w http.ResponseWriter, page []byte) {
	if page == nil {
		http.Error(w, "internal error", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = w.Write(page)
}

// A cardView is a card, or an order at the pass, as it is drawn. web/cards.js draws the same.
type cardView struct {
	Class  string // of its age
	Head   string
	Word   string // says its age without colour
	Age    string
	Who    string // below the head
	Meta   string // small: when, where
	Groups []groupView
}

// A groupView is what one station has of it.
type groupView struct {
	Station string // at the pass
	Done    bool
	Left    int
	Cards   []bodyView
}

type bodyView struct {
	Banners []bannerView
	Notes   []noteView
	Items   []itemView
	Raw     string
}

type bannerView struct{ Kind, Text string }

type noteView struct {
	Alarm bool
	Text  string
}

// An itemView is an item and what is under it: one thing to press.
type itemView struct {
	Done  bool
	Lines []lineView
}

type lineView struct {
	Item
	Class string
	Count string // its quantity; of a modifier, only one that is not 1
	Notes []noteView
}

func (view *screenView) cardView(c *Card, now time.Time) cardView {
	v := cardView{Head: headline(c.Number, c.Table, kindTitle(c.Kind), c.Type),
		Who: detailsText(c.Number, c.Table, c.Type, c.Server, c.Guests), Meta: metaText(c)}
	v.Class, v.Word, v.Age = view.age(c.Received, c.PutAt, now)
	v.Groups = []groupView{{Cards: []bodyView{newBodyView(c)}}}
	return v
}

func (view *screenView) orderView(o *Order, now time.Time) cardView {
	v := cardView{Head: headline(o.Number, o.Table, "", o.Type),
		Who: detailsText(o.Number, o.Table, o.Type, o.Server, o.Guests), Meta: o.Clock}
	v.Class, v.Word, v.Age = view.age(o.Received, o.Received, now)
	for _, s := range o.Stations {
		g := groupView{Station: s.Station, Done: s.Done, Left: s.Left}
		for _, c := range s.Cards {
			g.Cards = append(g.Cards, newBodyView(c))
		}
		v.Groups = append(v.Groups, g)
	}
	return v
}

// age is how old a ticket is, in a class, a word and a clock.
func (view *screenView) age(received, put int64, now time.Time) (class, word, clock string) {
	if received <= 0 {
		received = put
	}
	ms := max(now.UnixMilli()-received, 0)
	switch {
	case ms >= view.setup.LateAfter:
		class, word = "late", "LATE"
	case ms >= view.setup.WarnAfter:
		class, word = "due", "DUE"
	}
	return class, word, ageText(ms / 1000)
}

// ageText is mm:ss; minutes go on to 99.
func ageText(s int64) string {
	if s >= 100*60 {
		return fmt.Sprintf("%d h %02d", s/3600, s/60%60)
	}
	return fmt.Sprintf("%02d:%02d", s/60, s%60)
}

func headline(of ...string) string {
	for _, s := range of {
		if s != "" {
			return s
		}
	}
	return "Ticket"
}

func detailsText(number, table, kind, server, guests string) string {
	var parts []string
	if number != "" && table != "" {
		parts = append(parts, table)
	}
	for _, s := range []string{kind, server} {
		if s != "" {
			parts = append(parts, s)
		}
	}
	switch guests {
	case "":
	case "1":
		parts = append(parts, "1 guest")
	default:
		parts = append(parts, guests+" guests")
	}
	return strings.Join(parts, " · ")
}

func metaText(c *Card) string {
	var parts []string
	for _, s := range []string{c.Clock, c.Station, c.Course, c.Destination, c.Venue, c.Request} {
		if s != "" {
			parts = append(parts, s)
		}
	}
	return strings.Join(parts, " · ")
}

func newBodyView(c *Card) bodyView {
	v := bodyView{Banners: banners(c), Notes: noteViews(c.Notes), Raw: c.Raw}
	for _, it := range c.Items {
		if it.Depth == 0 || len(v.Items) == 0 {
			v.Items = append(v.Items, itemView{Done: it.Done})
		}
		last := &v.Items[len(v.Items)-1]
		last.Lines = append(last.Lines, newLineView(it))
	}
	return v
}

func newLineView(it Item) lineView {
	l := lineView{Item: it, Class: "line", Count: it.Quantity, Notes: noteViews(it.Notes)}
	if it.Depth > 0 {
		l.Class += " mod d" + strconv.Itoa(min(it.Depth, 5))
		if it.Quantity == "1" {
			l.Count = ""
		}
	}
	for _, k := range []struct {
		is   bool
		name string
	}{{it.Void, "void"}, {it.Refire, "refire"}, {it.Raw, "raw"}, {!it.Raw && mentionsAllergy(it.Name), "alarm"}} {
		if k.is {
			l.Class += " " + k.name
		}
	}
	return l
}

func noteViews(list []string) (out []noteView) {
	for _, s := range list {
		out = append(out, noteView{Alarm: mentionsAllergy(s), Text: s})
	}
	return out
}

// alarms are the parts of words that make a note one that can kill, in the languages that
// kitchens speak. A note without one of them is shown as large, but not in red.
func allergyWords() []string {
	return []string{
		"allerg", "alerg", "alérg", "allergi", "anaphyl", "anafil", "epipen", "coeliac", "celiac", "celíac", "zöliak", "cœliaq", "intoleran",
		"αλλεργ", "аллерг", "алерг", "alerji", "حساسية", "אלרג", "एलर्ज", "แพ้", "dị ứng", "过敏", "過敏", "アレルギー", "알레르기", "알러지",
	}
}

func mentionsAllergy(s string) bool {
	s = strings.ToLower(s)
	for _, a := range allergyWords() {
		if strings.Contains(s, a) {
			return true
		}
	}
	return false
}
