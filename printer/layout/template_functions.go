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
	// Markers in the output of a template. They are control characters, which no field contains, so
	// nothing the service sends can become one. A template that writes one itself changes only how
	// its own text looks. They must differ from \n, \r and \t, which templates write.
	beginBold   = '\x01'
	beginTall   = '\x02'
	beginBig    = '\x03'
	endStyle    = '\x04' // back to the previous style
	beginLeft   = '\x05'
	beginCenter = '\x06'
	beginRight  = '\x07'
	endPlace    = '\x0e' // back to the left edge
	beginRule   = '\x0f'
	endRule     = '\x10'
	blankRow    = '\x11'
)

// functions returns the functions of the template language.
func functions() template.FuncMap {
	// Each marker encloses its text, so that calls can be nested.
	enclose := func(before, after rune) func(any) string {
		return func(v any) string { return string(before) + fmt.Sprint(v) + string(after) }
	}
	// text/template has these for web pages; on paper they would print entities.
	unsupported := func(...any) (string, error) { return "", errors.New("there is no such function on paper") }
	return template.FuncMap{
		"bold": enclose(beginBold, endStyle), "tall": enclose(beginTall, endStyle), "big": enclose(beginBig, endStyle),
		"left": enclose(beginLeft, endPlace), "center": enclose(beginCenter, endPlace),
		"right": enclose(beginRight, endPlace),
		"rule":  func(of ...string) string { return string(beginRule) + strings.Join(of, "") + string(endRule) },
		"blank": func() string { return string(blankRow) },
		"upper": func(v any) string { return upperCase(fmt.Sprint(v)) },
		"lower": func(v any) string { return strings.ToLower(fmt.Sprint(v)) },
		"time":  formatTime,
		"html":  unsupported, "js": unsupported, "urlquery": unsupported,
	}
}

// formatTime formats a time of [Fields] with a layout of package time. No time prints nothing.
func formatTime(layout, at string) (string, error) {
	if at == "" {
		return "", nil
	}
	t, err := time.Parse(time.RFC3339, at)
	if err != nil {
		return "", fmt.Errorf("time %q: not a time; use .Received", at)
	}
	return t.Format(layout), nil
}
