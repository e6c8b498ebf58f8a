package app

import (
	"fmt"
	"log/slog"
	"slices"
	"sync"

	"ticketrail/config"
	"ticketrail/printer/layout"
)

// look is how the tickets of a printer look, but for what only the printer knows. Defaults
// are left to the layout, which fits them to the paper.
func look(c config.Printer, t *templateTrouble) (layout.Options, error) {
	usual := config.DefaultPrinter().Layout
	o := layout.Options{Columns: c.Columns, Printer: c.Name, UpperCase: c.Layout.UpperCase, BlankLines: c.Layout.BlankLines, QR: c.QR}
	if c.Layout.NameSize != usual.NameSize {
		o.NameSize = layout.Size(c.Layout.NameSize)
	}
	if c.Layout.ModifierSize != usual.ModifierSize {
		o.ModifierSize = layout.Size(c.Layout.ModifierSize)
	}
	if !slices.Equal(c.Layout.Header, usual.Header) {
		o.Header = c.Layout.Header
	}
	if c.Layout.TemplateFile == "" {
		return o, nil
	}
	var err error
	if o.Template, err = layout.ParseTemplate(c.Layout.Template); err != nil {
		return layout.Options{}, err
	}
	if t != nil {
		o.OnTemplateError = t.report
	}
	return o, nil
}

// templateTrouble is what a printer's template did last that it should not have. Its tickets
// print all the same, with the built-in head and foot.
type templateTrouble struct {
	printer, file string
	log           *slog.Logger

	mu   sync.Mutex // guards said
	said string
}

func (t *templateTrouble) report(err error) {
	t.mu.Lock()
	news := t.said != err.Error()
	t.said = err.Error()
	t.mu.Unlock()
	if news {
		t.log.Warn("the template failed, the ticket has the built-in head or foot", "printer", t.printer, "file", t.file, "err", err)
	}
}

// notice is what people must know of it; empty when it has not failed.
func (t *templateTrouble) notice() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.said == "" {
		return ""
	}
	return fmt.Sprintf("the template of %s fails, its tickets have the built-in head or foot: %s: %s; repair it and reload", t.printer, t.file, t.said)
}
