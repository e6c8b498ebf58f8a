package plan

import (
	"encoding/json"
	"html"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"ticketrail/receiver/contract"
)

// This file decides what a field may look like. The contract names few fields and shows no types, so
// each reader accepts every form that services are known to send, and treats the rest as missing.
// What cannot be read is unread, and prints as it came: see remainder.

// A reader reads the fields of one object, records in a trace where it found them, and remembers what it has read. A
// value of the wrong type or a blank one counts as missing, so that the next path gets its chance, and as unread. Names
// match without case, underscores and hyphens; a name that matches exactly comes first.
type reader struct {
	paths  *fieldPaths
	obj    map[string]any
	isItem bool     // of an item; else of a record
	found  *[]Found // nil: no trace is wanted
	used   []string // dotted paths, as they are in obj
	sorted []string // the keys of obj; nil until keys is called
}

// newReader returns a reader of an item or a modifier.
func newReader(paths *fieldPaths, obj map[string]any, found *[]Found) *reader {
	return &reader{paths: paths, obj: obj, isItem: true, found: found}
}

// keys are the keys of the object in order.
func (r *reader) keys() []string {
	if r.sorted == nil {
		r.sorted = slices.Sorted(maps.Keys(r.obj))
	}
	return r.sorted
}

// lookup returns the value at a path, nil if there is none, and the path as it is in the object.
func (r *reader) lookup(p path) (v any, at string) {
	v = r.obj
	for i, k := range p.keys {
		key := k
		switch c := v.(type) {
		case map[string]any:
			value, ok := c[k]
			if !ok {
				keys := r.keys()
				if i > 0 {
					keys = slices.Sorted(maps.Keys(c))
				}
				n := slices.IndexFunc(keys, func(key string) bool { return sameName(key, p.same[i]) })
				if n < 0 {
					return nil, ""
				}
				key = keys[n]
				value = c[key]
			}
			v = value
		case []any:
			n, err := strconv.Atoi(k)
			if err != nil || n < 0 || n >= len(c) {
				return nil, ""
			}
			v = c[n]
		default:
			return nil, ""
		}
		if i > 0 {
			at += "."
		}
		at += key
	}
	return v, at
}

// sameName says whether a key is a name without case, underscores and hyphens. It allocates nothing: each missing path
// is compared with each key of each item.
func sameName(key, name string) bool {
	n := 0
	for i := range len(key) {
		c := key[i]
		switch {
		case c == '_' || c == '-' || c == ' ':
			continue
		case 'A' <= c && c <= 'Z':
			c += 'a' - 'A'
		}
		if n == len(name) || name[n] != c {
			return false
		}
		n++
	}
	return n == len(name)
}

// read marks the value at a path as read, and records in the trace that it is the value of a field.
func (r *reader) read(id fieldID, p path, at, value string) {
	r.used = append(r.used, at)
	if r.found != nil {
		*r.found = append(*r.found, Found{Field: fields[id].name, Path: p.text, Value: value})
	}
}

// text reads a field that is text. Blank text does not count: the service sends "" for a field that
// it does not use.
func (r *reader) text(id fieldID) string { return r.readText(id, false) }

// textOrNumber reads a field that is text or a number.
func (r *reader) textOrNumber(id fieldID) string { return r.readText(id, true) }

func (r *reader) readText(id fieldID, numbers bool) string {
	for _, p := range r.paths[id] {
		v, at := r.lookup(p)
		s := ""
		switch v := v.(type) {
		case string:
			s = plainText(v)
		case json.Number:
			if numbers {
				s = plainNumber(v.String())
			}
		}
		if !isBlank(s) {
			r.read(id, p, at, s)
			return s
		}
	}
	return ""
}

// textBeforeNumber reads a field that is text, or else a number: the number of a course says less than its name. Beside
// a name the number counts as read, so it prints nowhere.
func (r *reader) textBeforeNumber(id fieldID) string {
	name := r.text(id)
	if name == "" {
		return r.textOrNumber(id)
	}
	for _, p := range r.paths[id] {
		if v, at := r.lookup(p); at != "" {
			if _, isNumber := v.(json.Number); isNumber {
				r.used = append(r.used, at)
			}
		}
	}
	return name
}

// number reads a field that is a number or a numeric string. Some services quote numbers.
func (r *reader) number(id fieldID) (n decimal, ok bool) {
	for _, p := range r.paths[id] {
		v, at := r.lookup(p)
		if n, ok := toDecimal(v); ok {
			r.read(id, p, at, n.String())
			return n, true
		}
	}
	return decimal{}, false
}

// flag reads a field that is true or false. A value that is neither counts as missing. The first
// path that can be read decides, even if it says false: a later path is the fallback for services
// that do not have the first.
func (r *reader) flag(id fieldID) bool {
	for _, p := range r.paths[id] {
		v, at := r.lookup(p)
		if b, ok := parseBool(v); ok {
			r.read(id, p, at, strconv.FormatBool(b))
			return b
		}
	}
	return false
}

// rush reads whether the order goes first: true, or a word that says so. Services also number their
// priorities, and from both ends, so a number says nothing.
func (r *reader) rush() bool {
	for _, p := range r.paths[fieldRush] {
		v, at := r.lookup(p)
		switch v := v.(type) {
		case bool:
			r.read(fieldRush, p, at, strconv.FormatBool(v))
			return v
		case string:
			s := strings.TrimSpace(v)
			switch strings.ToLower(s) {
			case "true", "yes", "y", "rush", "rushed", "priority", "high", "highest", "urgent", "asap":
				r.read(fieldRush, p, at, s)
				return true
			}
		}
	}
	return false
}

// notes reads text or a list of text at every path, not only the first: a service that fills both
// note and specialInstructions means both, and the second may be the allergy. So may be a value of
// another type, which is quoted as JSON. A text that occurs twice is printed once.
func (r *reader) notes(id fieldID) []string {
	var all []string
	seen := map[string]bool{}
	for _, p := range r.paths[id] {
		v, at := r.lookup(p)
		list, ok := v.([]any)
		if !ok {
			list = []any{v}
		}
		var found []string
		for _, e := range list {
			if s := noteText(e); !isBlank(s) {
				found = append(found, s)
			}
		}
		if len(found) == 0 {
			continue
		}
		r.read(id, p, at, strings.Join(found, "; "))
		for _, s := range found {
			if !seen[s] {
				seen[s] = true
				all = append(all, s)
			}
		}
	}
	return all
}

// noteText is the text of a note. The text may be wrapped in an object that holds nothing else, as in
// {"text": "no nuts"}; any other value is quoted as JSON. It is blank if there is no note.
func noteText(v any) string {
	if v == false || isEmpty(v) { // false: services send it for "no note"
		return ""
	}
	obj, ok := v.(map[string]any)
	if !ok {
		return asText(v)
	}
	text := ""
	for k, e := range obj {
		switch k {
		case "text", "note", "value", "name", "message":
			if s, ok := e.(string); ok && text == "" && !isBlank(s) {
				text = plainText(s)
				continue
			}
		}
		// A second text, or a member of an unknown name: quoting the whole object loses nothing.
		if k != contract.FieldID && !isMetadata(k) && !isEmpty(e) {
			return asText(v)
		}
	}
	if text == "" {
		return asText(v)
	}
	return text
}

// isEmpty says that v holds nothing but blanks, nulls, and lists and objects of those. An empty
// list or object means "no note" too; printed, it would be noise on every ticket.
func isEmpty(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case string:
		return isBlank(v)
	case []any:
		return !slices.ContainsFunc(v, func(e any) bool { return !isEmpty(e) })
	case map[string]any:
		for _, e := range v {
			if !isEmpty(e) {
				return false
			}
		}
		return true
	}
	return false
}

// parseBool reads true, 1, "true", "yes", "y" and "1" as true and their opposites as false, in any
// case, and the numbers in any spelling, such as 1.0. The wide reading is for voids: "isVoid":
// "yes" must not be cooked.
func parseBool(v any) (value, ok bool) {
	switch v := v.(type) {
	case bool:
		return v, true
	case json.Number:
		return parseOneOrZero(string(v))
	case string:
		s := strings.TrimSpace(v)
		switch strings.ToLower(s) {
		case "true", "yes", "y":
			return true, true
		case "false", "no", "n":
			return false, true
		}
		return parseOneOrZero(s)
	}
	return false, false
}

// parseOneOrZero reads 1 and 0 in any spelling, such as 1.0 or 01.
func parseOneOrZero(s string) (one, ok bool) {
	d, ok := parseDecimal(s)
	switch plain := d.String(); {
	case ok && plain == "1":
		return true, true
	case ok && plain == "0":
		return false, true
	}
	return false, false
}

// asText is text as it is and any other value as JSON.
func asText(v any) string {
	if s, ok := v.(string); ok {
		return plainText(s)
	}
	return asJSON(v)
}

// plainText is text without blanks around it. Services whose tablets show HTML send its entities.
func plainText(s string) string { return strings.TrimSpace(html.UnescapeString(s)) }

// isBlank says that nothing of s would be visible on paper. A name of control characters and
// zero-width joiners is no name: the item prints as its JSON instead.
func isBlank(s string) bool {
	for _, r := range s {
		if unicode.IsGraphic(r) && !unicode.IsSpace(r) {
			return false
		}
	}
	return true
}
