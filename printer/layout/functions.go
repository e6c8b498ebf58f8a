package layout

import (
	"errors"
	"fmt"
	"strings"
	"text/template"
	"time"
)

// How a template says what is no text. They are control characters, which no field
// holds, so nothing the service sends can be one; a template that writes one itself only
// changes how its own text looks.
const (
	toBold   = '\x01'
	toTall   = '\x02'
	toBig    = '\x03'
	toBefore = '\x04' // back to the style before
	toLeft   = '\x05'
	toCenter = '\x06'
	toRight  = '\x07'
	toPlace  = '\x0e' // back to the left
	ruleFrom = '\x0f'
	ruleTo   = '\x10'
	emptyRow = '\x11'
)

// functions are those of a template's language.
func functions() template.FuncMap {
	around := func(before, after rune) func(any) string {
		return func(v any) string { return string(before) + fmt.Sprint(v) + string(after) }
	}
	useless := func(...any) (string, error) { return "", errors.New("there is no such function on paper") }
	return template.FuncMap{
		"bold": around(toBold, toBefore), "tall": around(toTall, toBefore), "big": around(toBig, toBefore),
		"left": around(toLeft, toPlace), "center": around(toCenter, toPlace), "right": around(toRight, toPlace),
		"rule":  func(of ...string) string { return string(ruleFrom) + strings.Join(of, "") + string(ruleTo) },
		"blank": func() string { return string(emptyRow) },
		"upper": func(v any) string { return capitals(fmt.Sprint(v)) },
		"lower": func(v any) string { return strings.ToLower(fmt.Sprint(v)) },
		"time":  clockwork,
		"html":  useless, "js": useless, "urlquery": useless,
	}
}

// clockwork is a time, as [Fields] has it, in the layout of package time.
func clockwork(layout, at string) (string, error) {
	if at == "" {
		return "", nil
	}
	t, err := time.Parse(time.RFC3339, at)
	if err != nil {
		return "", fmt.Errorf("time %q: not a time; use .Received", at)
	}
	return t.Format(layout), nil
}
