package layout

import (
	"fmt"
	"text/template"
)

// A Template draws the header and the footer of a ticket the way a house likes them. It
// is safe for concurrent use.
type Template struct {
	t *template.Template
}

// ParseTemplate reads a template that defines "header", "footer" or both.
func ParseTemplate(text string) (*Template, error) {
	t, err := template.New("template").Parse(text)
	if err != nil {
		return nil, fmt.Errorf("parse template: %w", err)
	}
	return &Template{t}, nil
}
