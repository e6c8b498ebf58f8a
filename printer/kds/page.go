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

	"ticketrail/printer/kds/board"
)

// templates escape every value for the place where it stands. Nothing here has one of the types
// that switch escaping off (template.HTML and the like).
var templates = sync.OnceValue(func() *template.Template {
	return template.Must(template.ParseFS(webFolder, "web/*.html"))
})

// An indexView is the data of the start page, a pairingView that of the page with a code.
type indexView struct {
	Web      string
	Displays []*screenView
	Manages  bool
}

type pairingView struct{ Web, Code string }

// A pageView is the data of a page: what is rendered before its script runs, and the JSON the
// script starts with.
type pageView struct {
	Web   string
	Setup setup
	Tag   string // of the setup; a page with another tag reloads itself
	Beat  beat
	State any
	Open  int
	Cards []cardView // the first ones, rendered as HTML
}

// maxCardsInPage is more cards than any screen has space for. The script renders the rest.
const maxCardsInPage = 60

// maxRendering is how many pages are rendered at once. After a power cut all screens of a kitchen
// load their page in the same second, and a page with a full board takes half a megabyte until it
// is sent.
const maxRendering = 2

// page serves the page of a screen. It contains the board twice, both of the same moment: as HTML,
// so that a cook sees the tickets before any script runs, and as JSON for the script.
func (s *Server) page(w http.ResponseWriter, r *http.Request, view *screenView, g *grant) {
	// Each visit prolongs the cookie, so a screen in use is never unpaired by age.
	g.renew(w, r)
	select {
	case s.renderSlots <- struct{}{}:
	case <-r.Context().Done():
		return // the browser has gone
	}
	writePage(w, s.renderPage(view)) // without the slot: a slow reader must not block other pages
}

// renderPage renders the page of one screen. The caller holds a render slot, which it releases.
func (s *Server) renderPage(view *screenView) []byte {
	defer func() { <-s.renderSlots }()
	v := pageView{Web: s.web.base, Setup: view.setup, Tag: view.setupTag, Beat: view.newBeat(),
		State: view.source.snapshot()}
	now := time.UnixMilli(v.Beat.Now)
	switch state := v.State.(type) {
	case board.Snapshot:
		v.Open = len(state.Open)
		for _, c := range state.Open[:min(v.Open, maxCardsInPage)] {
			v.Cards = append(v.Cards, view.cardView(c, now))
		}
	case board.PassSnapshot:
		v.Open = len(state.Orders)
		for _, o := range state.Orders[:min(v.Open, maxCardsInPage)] {
			v.Cards = append(v.Cards, view.orderView(o, now))
		}
	}
	return s.render("page.html", v)
}

// serveTemplate renders a template and answers with it.
func (s *Server) serveTemplate(w http.ResponseWriter, name string, v any) {
	writePage(w, s.render(name, v))
}

// render returns the rendered template; nil if that failed.
func (s *Server) render(name string, v any) []byte {
	var b bytes.Buffer
	if err := templates().ExecuteTemplate(&b, name, v); err != nil {
		s.log.Error("cannot render a page", "page", name, "err", err)
		return nil
	}
	return b.Bytes()
}

// writePage answers with a rendered page.
func writePage(w http.ResponseWriter, page []byte) {
	if page == nil {
		http.Error(w, "internal error", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = w.Write(page)
}

// A cardView is a card, or an order of the expo, as the template shows it. web/cards.js builds the
// same elements; a browser test compares the two.
type cardView struct {
	Class  string // "due" or "late"
	Head   string
	Word   string // says the same without colour
	Age    string
	Who    string // the line below the headline
	Meta   string // small print: when and where
	Groups []groupView
}

// A groupView is the part of one station.
type groupView struct {
	Station string // only on an expo
	Done    bool
	Left    int
	Cards   []bodyView
}

// A bodyView is one card without its head.
type bodyView struct {
	Banners []bannerView
	Notes   []noteView
	Items   []itemView
	Raw     string
}

type bannerView struct{ Kind, Text string }

// A noteView is a note; Alarm marks an allergy.
type noteView struct {
	Alarm bool
	Text  string
}

// An itemView is an item with its modifiers: one button.
type itemView struct {
	Done  bool
	Lines []lineView
}

// A lineView is an item or a modifier. Item gives the template the fields of the card's line.
type lineView struct {
	board.Item
	Class string
	Count string // its quantity; of a modifier only if it is not 1
	Notes []noteView
}

// cardView prepares one card for the template.
func (view *screenView) cardView(c *board.Card, now time.Time) cardView {
	v := cardView{Head: headline(c.Number, c.Table, kindTitle(c.Kind), c.Type),
		Who: detailsText(c.Number, c.Table, c.Type, c.Server, c.Guests), Meta: metaText(c)}
	v.Class, v.Word, v.Age = view.age(c.Received, c.PutAt, now)
	v.Groups = []groupView{{Cards: []bodyView{newBodyView(c)}}}
	return v
}

// orderView prepares one order of the expo for the template.
func (view *screenView) orderView(o *board.Order, now time.Time) cardView {
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

// age returns a ticket's age as a CSS class, a word and mm:ss. A ticket without a time of receipt
// counts from when it came to the board.
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

// ageText is mm:ss up to 99 minutes, then hours and minutes.
func ageText(s int64) string {
	if s >= 100*60 {
		return fmt.Sprintf("%d h %02d", s/3600, s/60%60)
	}
	return fmt.Sprintf("%02d:%02d", s/60, s%60)
}

// headline is the first of its arguments that is not empty. A card must have a name that a cook can
// call out, whatever the till left out.
func headline(of ...string) string {
	for _, s := range of {
		if s != "" {
			return s
		}
	}
	return "Ticket"
}

// detailsText is the line below the headline: table, type, server and guests.
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

// metaText is the small print of a card.
func metaText(c *board.Card) string {
	var parts []string
	for _, s := range []string{c.Clock, c.Station, c.Course, c.Destination, c.Venue, c.Request} {
		if s != "" {
			parts = append(parts, s)
		}
	}
	return strings.Join(parts, " · ")
}

// newBodyView groups the lines of a card into items with their modifiers. Modifiers without an item
// before them form one of their own, so that nothing is lost.
func newBodyView(c *board.Card) bodyView {
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

// newLineView chooses the CSS classes of one line. A class is never the only sign: the template
// writes the same in words, for cooks who do not see the colour.
func newLineView(it board.Item) lineView {
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

// noteViews marks the notes that mention an allergy.
func noteViews(list []string) (out []noteView) {
	for _, s := range list {
		out = append(out, noteView{Alarm: mentionsAllergy(s), Text: s})
	}
	return out
}

// allergyWords are parts of words that mark a note as an allergy, in languages that kitchens use. A
// note with one of them is shown in red with a warning sign; other notes are as large, but not red.
// The list errs on the side of red.
func allergyWords() []string {
	return []string{
		"allerg", "alerg", "alérg", "allergi", "anaphyl", "anafil", "epipen", "coeliac", "celiac", "celíac",
		"zöliak", "cœliaq", "intoleran",
		"αλλεργ", "аллерг", "алерг", "alerji", "حساسية", "אלרג", "एलर्ज", "แพ้",
		"dị ứng", "过敏", "過敏", "アレルギー", "알레르기", "알러지",
	}
}

// mentionsAllergy reports whether a text contains one of allergyWords. A part of a word is enough,
// because notes are typed in a hurry: "peanutallergy!!".
func mentionsAllergy(s string) bool {
	s = strings.ToLower(s)
	for _, a := range allergyWords() {
		if strings.Contains(s, a) {
			return true
		}
	}
	return false
}
