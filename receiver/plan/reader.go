package plan

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"ticketrail/receiver/contract"
)

// A reader reads the fields of one object, and tells a trace where it found them.
type reader struct {
	fields *fieldSet
	obj    map[string]any
	found  *[]Found // nil: nobody asks
}

func (r reader) note(id fieldID, p, value string) {
	if r.found != nil {
		*r.found = append(*r.found, Found{Field: Fields()[id].Name, Path: p, Value: value})
	}
}

// text reads a field that is text; with numbers, a number will do.
func (r reader) text(id fieldID, numbers bool) string {
	for _, p := range r.fields[id] {
		s := ""
		switch v := p.at(r.obj).(type) {
		case string:
			s = strings.TrimSpace(v)
		case json.Number:
			if numbers {
				s = plainNumber(v.String())
			}
		}
		if !blank(s) {
			r.note(id, p.text, s)
			return s
		}
	}
	return ""
}

// number reads a field that is a number or a numeric string.
func (r reader) number(id fieldID) (n decimal, ok bool) {
	for _, p := range r.fields[id] {
		if n, ok := toDecimal(p.at(r.obj)); ok {
			r.note(id, p.text, n.String())
			return n, true
		}
	}
	return decimal{}, false
}

// oddity returns the first value of a field that has values, none of them a number: what
// was meant is for a person to say, so the ticket quotes it.
func (r reader) oddity(id fieldID) string {
	for _, p := range r.fields[id] {
		v := p.at(r.obj)
		if s, ok := v.(string); ok {
			if v = strings.TrimSpace(s); blank(s) {
				continue
			}
		}
		if v == nil {
			continue
		}
		s := quote(v)
		r.note(id, p.text, s)
		return s
	}
	return ""
}

func (r reader) flag(id fieldID) bool {
	for _, p := range r.fields[id] {
		if b, ok := truth(p.at(r.obj)); ok {
			r.note(id, p.text, strconv.FormatBool(b))
			return b
		}
	}
	return false
}

// notes reads text or a list of text at every path, not only the first: a service that
// fills both note and specialInstructions means both, and the second may be the allergy.
// So may be what has another shape: it is quoted. What is there twice is said once.
func (r reader) notes(id fieldID) []string {
	var all []string
	seen := map[string]bool{}
	for _, p := range r.fields[id] {
		v := p.at(r.obj)
		list, ok := v.([]any)
		if !ok {
			list = []any{v}
		}
		var found []string
		for _, e := range list {
			if s := noteText(e); !blank(s) {
				found = append(found, s)
			}
		}
		if len(found) == 0 {
			continue
		}
		r.note(id, p.text, strings.Join(found, "; "))
		for _, s := range found {
			if !seen[s] {
				seen[s] = true
				all = append(all, s)
			}
		}
	}
	return all
}

// noteText is what a note says: its text, also where that is wrapped in an object that says
// nothing else, or what there is as JSON. It is blank when there is nothing.
func noteText(v any) string {
	if v == false || nothing(v) {
		return ""
	}
	obj, ok := v.(map[string]any)
	if !ok {
		return quote(v)
	}
	text := ""
	for k, e := range obj {
		switch k {
		case "text", "note", "value", "name", "message":
			if s, ok := e.(string); ok && text == "" && !blank(s) {
				text = strings.TrimSpace(s)
				continue
			}
		}
		if k != contract.FieldID && !bookkeeping(k) && !nothing(e) {
			return quote(v)
		}
	}
	if text == "" {
		return quote(v)
	}
	return text
}

// nothing says that v holds no value that anybody could mean something by.
func nothing(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case string:
		return blank(v)
	case []any:
		return !slices.ContainsFunc(v, func(e any) bool { return !nothing(e) })
	case map[string]any:
		for _, e := range v {
			if !nothing(e) {
				return false
			}
		}
		return true
	}
	return false
}

// truth reads true, 1, "true", "yes", "y" and "1" as true, their opposites as false, in any
// case and the numbers however they are written.
func truth(v any) (value, ok bool) {
	switch v := v.(type) {
	case bool:
		return v, true
	case json.Number:
		return oneOrZero(string(v))
	case string:
		s := strings.TrimSpace(v)
		switch strings.ToLower(s) {
		case "true", "yes", "y":
			return true, true
		case "false", "no", "n":
			return false, true
		}
		return oneOrZero(s)
	}
	return false, false
}

func oneOrZero(s string) (one, ok bool) {
	d, ok := parseDecimal(s)
	switch plain := d.String(); {
	case ok && plain == "1":
		return true, true
	case ok && plain == "0":
		return false, true
	}
	return false, false
}

// quote is text as it is and anything else as JSON.
func quote(v any) string {
	if s, ok := v.(string); ok {
		return strings.TrimSpace(s)
	}
	return asJSON(v)
}

// blank says that nothing of s would be seen on paper. A name of control characters and
// zero-width joiners is no name.
func blank(s string) bool {
	for _, r := range s {
		if unicode.IsGraphic(r) && !unicode.IsSpace(r) {
			return false
		}
	}
	return true
}
