package layout

import (
	"errors"
	"fmt"
	"strings"
	"text/template"
	"text/template/parse"

	"ticketrail/queue/ticket"
)

// A Template draws the header and the footer of a ticket the way a house likes them, in
// the language of [text/template]. It is safe for concurrent use. Items, voids and
// banners are not its business: those look the same in every kitchen.
//
//	{{define "header"}}
//	{{center (bold .Venue)}}
//	{{rule "-"}}
//	{{big .Number}}{{right (big .Table)}}
//	{{.Type}}{{right (time "3:04 PM" .Received)}}
//	{{if .Server}}Served by {{upper .Server}}{{end}}
//	{{end}}
//
//	{{define "footer"}}
//	{{center "Thank you, kitchen!"}}
//	{{.ShortRequest}}{{right (print "job " .Job)}}
//	{{end}}
//
// The data is [Fields]. "header" replaces what stands between the banners and the notes
// on the order, "footer" what stands below the items; where one is not defined the
// built-in one prints. A rule follows and precedes them by itself. Other templates may be defined for use in these two.
//
// Each line of output is a line of print, wrapped where it is wider than the paper.
// Empty lines do not print, so that a field nobody filled leaves no gap. Functions beside
// those of text/template:
//
//	bold, tall, big     text in bold, in double height, in double width and height
//	left, center, right where on its line text stands; several may share a line
//	rule "-"            a line drawn across the paper
//	blank               an empty line
//	upper, lower        in capital and in small letters
//	time "15:04" .Received   a time in the layout of Go's time package
//
// html, js and urlquery are of no use on paper and fail.
type Template struct{ t *template.Template }

// What a template may cost. A header has some fifty steps and half a kilobyte.
const (
	longestTemplate = 16 << 10 // bytes of its source
	longestFields   = 4 << 10  // bytes of a ticket's fields; longer ones get the built-in header
	longestOutput   = 16 << 10 // bytes it may write
	mostSteps       = 2000     // parts of it that may run, so that no loop is endless
	mostLines       = 60       // of print
)

// ParseTemplate reads a template that defines "header", "footer" or both, and tries it
// on a sample. The error says where in text the mistake is.
func ParseTemplate(text string) (*Template, error) {
	if len(text) > longestTemplate {
		return nil, fmt.Errorf("template: %d bytes are too long; a header and a footer need less than %d", len(text), longestTemplate)
	}
	t, err := template.New("at line").Funcs(functions(&meter{})).Parse(text)
	if err != nil {
		return nil, wording("", err)
	}
	if t.Tree != nil && !parse.IsEmptyTree(t.Root) {
		return nil, errors.New(`template: there is text outside of {{define "header"}}…{{end}} and {{define "footer"}}…{{end}}, which would not print`)
	}
	if t.Lookup("header") == nil && t.Lookup("footer") == nil {
		return nil, errors.New(`template: it defines neither "header" nor "footer"; write {{define "header"}}…{{end}}`)
	}
	for _, one := range t.Templates() {
		if one.Tree != nil {
			metered(one.Root)
		}
	}
	tp := &Template{t}
	for _, name := range []string{"header", "footer"} {
		if _, _, err := tp.lines(name, sample(), composer{columns: 42}); err != nil {
			return nil, err
		}
	}
	return tp, nil
}

// fromTemplate prints what the house's template called name gives, and says whether it
// did. If the template fails, nothing of it prints, and its owner hears why.
func (c *composer) fromTemplate(name string, d *ticket.Delivery) bool {
	if c.Template == nil {
		return false
	}
	lines, defined, err := c.Template.lines(name, c.fields(d), *c)
	if err != nil && c.OnTemplateError != nil {
		c.OnTemplateError(err)
	}
	if err != nil || !defined {
		return false
	}
	c.lines = append(c.lines, lines...)
	return true
}

// lines is what the template called name prints for f; c says on what paper.
func (tp *Template) lines(name string, f Fields, c composer) (_ []Line, defined bool, err error) {
	if tp.t == nil || tp.t.Lookup(name) == nil {
		return nil, false, nil
	}
	defer func() {
		if p := recover(); p != nil { // a ticket must print, whatever is wrong in here
			err = fmt.Errorf("template: %s: %s", name, Clean(fmt.Sprint(p)))
		}
	}()
	if n := f.length(); n > longestFields {
		return nil, true, fmt.Errorf("template: %s: the fields of this ticket are %d bytes long, which is more than %d", name, n, longestFields)
	}
	t, err := tp.t.Clone()
	if err != nil {
		return nil, true, wording(name, err)
	}
	m := &meter{}
	if err := t.Funcs(functions(m)).ExecuteTemplate(m, name, f); err != nil {
		return nil, true, wording(name, err)
	}
	c.lines = nil
	c.markup(m.out.String())
	high := 0
	for _, l := range c.lines {
		high += l.Height()
	}
	if high > mostLines {
		return nil, true, fmt.Errorf("template: %s: it is %d lines high, which is more than %d", name, high, mostLines)
	}
	return c.lines, true, nil
}

// wording is an error of text/template for a log: one line, with nothing hostile in it.
func wording(name string, err error) error {
	s := Clean(err.Error())
	if len(s) > 500 {
		s = strings.ToValidUTF8(s[:500], "") + "…"
	}
	if !strings.HasPrefix(s, "template: ") {
		s = "template: " + name + ": " + s
	}
	return errors.New(s)
}

// metered puts an empty text before each part of a template, so that the meter hears of
// every step: a loop that writes nothing would be endless otherwise.
func metered(list *parse.ListNode) {
	if list == nil {
		return
	}
	nodes := make([]parse.Node, 0, 2*len(list.Nodes)+1)
	for _, n := range list.Nodes {
		nodes = append(nodes, step(n), n)
		switch n := n.(type) {
		case *parse.IfNode:
			metered(n.List)
			metered(n.ElseList)
		case *parse.WithNode:
			metered(n.List)
			metered(n.ElseList)
		case *parse.RangeNode:
			metered(n.List)
			metered(n.ElseList)
		}
	}
	if len(nodes) == 0 {
		nodes = append(nodes, step(list))
	}
	list.Nodes = nodes
}

func step(at parse.Node) parse.Node {
	return &parse.TextNode{NodeType: parse.NodeText, Pos: at.Position()}
}

// A meter takes what one execution writes, and ends it where that is too much.
type meter struct {
	out   strings.Builder
	steps int
	spent int // bytes that went through functions
}

func (m *meter) Write(p []byte) (int, error) {
	if m.steps++; m.steps > mostSteps {
		return 0, fmt.Errorf("it takes more than %d steps; is there a loop without end?", mostSteps)
	}
	if m.out.Len()+len(p) > longestOutput {
		return 0, fmt.Errorf("it writes more than %d bytes", longestOutput)
	}
	return m.out.Write(p)
}

// joined is what of makes of v, unless the parts alone are too much.
func (m *meter) joined(of func(...any) string, v []any) (string, error) {
	n := 0
	for _, part := range v {
		if s, ok := part.(string); ok {
			n += len(s)
		}
	}
	if n > longestOutput {
		return "", errTooMuch
	}
	return m.pass(of(v...))
}

var errTooMuch = fmt.Errorf("it handles more than %d bytes of text", longestOutput)

// pass gives s back unless the execution handles too much.
func (m *meter) pass(s string) (string, error) {
	m.spent += len(s)
	if len(s) > longestOutput || m.spent > 16*longestOutput {
		return "", errTooMuch
	}
	return s, nil
}
