package layout

import (
	"errors"
	"fmt"
	"strings"
	"text/template"
	"text/template/parse"

	"ticketrail/queue/ticket"
)

// A Template draws the header and the footer of a ticket in the language of [text/template]. It is
// safe for concurrent use. Items, voids and banners cannot be changed by a template: they look the
// same in every kitchen, because cooks must recognize them.
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
// The data is [Fields]. "header" replaces what is between the banners and the notes on the order,
// "footer" what is below the items; if one is not defined, the built-in one prints. The rules that
// separate them from the items print by themselves. Further templates may be defined for use in
// these two.
//
// Each line of output is a line of print, wrapped if it is wider than the paper. Empty lines do not
// print, so that an empty field leaves no gap. Functions in addition to those of text/template:
//
//	bold, tall, big     text in bold, in double height, in double width and height
//	left, center, right where on its line the text is printed; several may share a line
//	rule "-"            a line drawn across the paper
//	blank               an empty line
//	upper, lower        in capital and in small letters
//	time "15:04" .Received   a time in the layout of Go's time package
//
// html, js and urlquery make no sense on paper and fail.
type Template struct{ t *template.Template }

// maxTemplateLines is the most lines of print that the output of one template may take.
//
// How long a template runs is not limited. It is the operator's own file, and it is tried when the
// configuration is read. What comes from the network only fills its fields: text, and one list of
// notes as long as the ticket's, so no ticket makes a {{range}} endless. A template that calls
// itself without end, or counts with {{range 1000000}}, does so because the operator wrote it.
const maxTemplateLines = 60

// ParseTemplate reads a template that defines "header", "footer" or both, and tries it on sample
// data, so that a misspelt field is found when the configuration is read and not with the first
// order. The error says where in text the mistake is.
func ParseTemplate(text string) (*Template, error) {
	t, err := template.New("at line").Funcs(functions()).Parse(text)
	if err != nil {
		return nil, cleanError(err)
	}
	if t.Tree != nil && !parse.IsEmptyTree(t.Root) {
		return nil, errors.New("template: text outside of " +
			`{{define "header"}}…{{end}} and {{define "footer"}}…{{end}} would not print`)
	}
	if t.Lookup("header") == nil && t.Lookup("footer") == nil {
		return nil, errors.New(`template: neither "header" nor "footer" is defined; write {{define "header"}}…{{end}}`)
	}
	tp := &Template{t}
	for _, name := range []string{"header", "footer"} {
		if _, _, err := tp.lines(name, sampleFields(), composer{columns: 42}); err != nil {
			return nil, err
		}
	}
	return tp, nil
}

// renderTemplate prints the output of the template called name and reports whether it did. If the
// template fails, nothing of its output prints, and OnTemplateError is called.
func (c *composer) renderTemplate(name string, d *ticket.Delivery) bool {
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

// lines returns what the template called name prints for f. c says how wide the paper is and what
// the printer can print; it is a copy, so a template that fails leaves no lines behind.
func (tp *Template) lines(name string, f Fields, c composer) (_ []Line, defined bool, err error) {
	if tp.t.Lookup(name) == nil {
		return nil, false, nil
	}
	defer func() {
		if p := recover(); p != nil { // a panic in a template must not cost the ticket
			err = fmt.Errorf("template: %s: %s", name, Clean(fmt.Sprint(p)))
		}
	}()
	var out strings.Builder
	if err := tp.t.ExecuteTemplate(&out, name, f); err != nil {
		return nil, true, cleanError(err)
	}
	c.lines = nil
	c.markup(out.String())
	high := 0
	for _, l := range c.lines {
		high += l.Height()
	}
	if high > maxTemplateLines {
		return nil, true, fmt.Errorf("template: %s: its output is %d lines high; at most %d are possible", name, high,
			maxTemplateLines)
	}
	return c.lines, true, nil
}

// cleanError makes an error of text/template fit for a log: one line of limited length, without
// control characters. It may quote fields of the ticket, which come from the network.
func cleanError(err error) error {
	s := Clean(err.Error())
	if len(s) > 500 {
		s = strings.ToValidUTF8(s[:500], "") + "…"
	}
	return errors.New(s)
}
