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

// functions are those of a template's language, each counted by m.
func functions(m *meter) template.FuncMap {
	around := func(before, after rune) func(any) (string, error) {
		return func(v any) (string, error) { return m.pass(string(before) + fmt.Sprint(v) + string(after)) }
	}
	useless := func(...any) (string, error) { return "", errors.New("there is no such function on paper") }
	return template.FuncMap{
		"bold": around(toBold, toBefore), "tall": around(toTall, toBefore), "big": around(toBig, toBefore),
		"left": around(toLeft, toPlace), "center": around(toCenter, toPlace), "right": around(toRight, toPlace),
		"rule": func(of ...string) (string, error) {
			return m.pass(string(ruleFrom) + strings.Join(of, "") + string(ruleTo))
		},
		"blank": func() string { return string(emptyRow) },
		"upper": func(v any) (string, error) { return m.pass(capitals(fmt.Sprint(v))) },
		"lower": func(v any) (string, error) { return m.pass(strings.ToLower(fmt.Sprint(v))) },
		"time": func(layout, at string) (string, error) {
			s, err := clockwork(layout, at)
			if err != nil {
				return "", err
			}
			return m.pass(s) // a layout can be longer each time: on the 22nd, each 2 becomes two
		},

		"print":   func(v ...any) (string, error) { return m.joined(fmt.Sprint, v) },
		"println": func(v ...any) (string, error) { return m.joined(fmt.Sprintln, v) },
		"printf": func(format string, v ...any) (string, error) {
			if !modest(format) {
				return "", fmt.Errorf("printf %q: no number here may have more than two digits or be a *", format)
			}
			return m.joined(func(v ...any) string { return fmt.Sprintf(format, v...) }, v)
		},
		"html": useless, "js": useless, "urlquery": useless,
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

// modest says that no width or precision in a format makes much of little.
func modest(format string) bool {
	digits, verb := 0, false
	for i := range len(format) {
		switch b := format[i]; {
		case b == '%':
			verb, digits = !verb, 0
		case !verb:
		case b >= '0' && b <= '9':
			if digits++; digits > 2 {
				return false
			}
		case b == '*' || b == '[':
			return false
		case b == '.' || b == '+' || b == '-' || b == '#' || b == ' ':
			digits = 0
		default:
			verb = false
		}
	}
	return true
}
