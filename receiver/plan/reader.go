package plan

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"ticketrail/queue/ticket"
	"ticketrail/receiver/contract"
)

// This file decides which forms a field may have. The contract names few fields and shows no types, so
// each reader accepts every form that services are known to send, and treats the rest as missing.
// A value that cannot be read is unread, and prints as it came: see remainder.

// A reader reads the fields of one object, and marks the values that it has read. A value of the wrong type or a
// blank one counts as missing, so that the next path gets its chance, and as unread.
type reader struct {
	*splitter
	obj  contract.Value
	hits []hit
}

// A hit is a value at a path of a field.
type hit struct {
	*fieldPath
	inexact int // 1 if the name differs in case or punctuation
	v       contract.Value
}

// reader returns a reader of an object. It is valid until the next one is made.
func (s *splitter) reader(obj contract.Value) *reader {
	s.hits = s.hits[:0]
	var buf [64]byte
	for member := range obj.All() {
		paths := s.plan.paths[string(fold(buf[:0], member.Key()))]
		for i := range paths {
			path := &paths[i]
			if found := descend(member, path.rest); found != nil {
				found := hit{fieldPath: path, v: found}
				if member.Key() != path.key {
					found.inexact = 1
				}
				s.hits = append(s.hits, found)
			}
		}
	}

	slices.SortStableFunc(s.hits, func(a, b hit) int {
		return cmp.Or(cmp.Compare(a.field, b.field), cmp.Compare(a.rank, b.rank), cmp.Compare(a.inexact, b.inexact))
	})
	return &reader{s, obj, s.hits}
}

// descend follows the keys of a path below a member; nil if there is nothing. A number is an index into a list; of any
// other key, the first element that has it is meant.
func descend(v contract.Value, keys []string) contract.Value {
	if len(keys) == 0 {
		return v
	}

	switch v.Kind() {
	case '{':
		for member := range v.All() {
			if sameName(member.Key(), keys[0]) {
				return descend(member, keys[1:])
			}
		}
	case '[':
		nth, at := listIndex(keys[0]), 0
		for e := range v.All() {
			switch {
			case at == nth:
				return descend(e, keys[1:])
			case nth < 0:
				if found := descend(e, keys); found != nil {
					return found
				}
			}
			at++
		}
	}
	return nil
}

// listIndex is a key as an index, -1 if it is none.
func listIndex(key string) int {
	if !allDigits(key) {
		return -1
	}
	nth, _ := strconv.Atoi(key) // of one that is too large, the largest
	return nth
}

// of returns the values at the paths of a field, in the order of the paths.
func (r *reader) of(id fieldID) []hit {
	from := 0
	for from < len(r.hits) && r.hits[from].field < id {
		from++
	}

	to := from
	for to < len(r.hits) && r.hits[to].field == id {
		to++
	}
	return r.hits[from:to]
}

// text reads a field that is text. Blank text does not count: the service sends "" for a field that it does not use.
func (r *reader) text(id fieldID) string { return r.readText(id, false) }

// textOrNumber reads a field that is text or a number.
func (r *reader) textOrNumber(id fieldID) string { return r.readText(id, true) }

func (r *reader) readText(id fieldID, numbers bool) string {
	text := r.find(id, numbers)
	if text == "" {
		return ""
	}

	for _, h := range r.of(id) {
		if isText(h.v, numbers) && strings.EqualFold(scalarText(h.v), text) { // the same again is read too
			r.markRead(h.v, id)
		}
	}
	return text
}

// find is readText without marking the value.
func (r *reader) find(id fieldID, numbers bool) string {
	for _, h := range r.of(id) {
		if isText(h.v, numbers) && !isBlank(scalarText(h.v)) {
			return scalarText(h.v)
		}
	}
	return ""
}

func isText(v contract.Value, numbers bool) bool {
	return v.Kind() == '"' || v.Kind() == '0' && numbers
}

// course reads a name, or else a number, which says less. Two things print nowhere: the number beside a name, and a
// name that says that there is no course (noCourse).
func (r *reader) course() string {
	name := r.text(fieldCourse)
	if name == "" {
		return r.textOrNumber(fieldCourse)
	}

	for _, h := range r.of(fieldCourse) {
		if h.v.Kind() == '0' {
			r.markRead(h.v, fieldCourse)
		}
	}

	if slices.Contains(noCourse, folded(name)) {
		return ""
	}
	return name
}

// number reads a field that is a number or a numeric string. Some services quote numbers.
func (r *reader) number(id fieldID) (n decimal, ok bool) {
	for _, h := range r.of(id) {
		if n, ok := toDecimal(h.v); ok {
			r.markRead(h.v, id)
			return n, true
		}
	}
	return decimal{}, false
}

// flag reads a field that is true or false. A value that is neither counts as missing. The first path that can be read
// decides, even if it says false: a later path is the fallback for services that do not have the first.
func (r *reader) flag(id fieldID) bool {
	for _, h := range r.of(id) {
		if says, ok := parseBool(h.v); ok {
			r.markRead(h.v, id)
			return says
		}
	}
	return false
}

// isRushOrHold reads whether an order goes first or is not to be made yet: true, or a word that says so. Services also
// number their priorities, and from both ends, so a number says nothing. A hold is not marked as read: a screen shows
// it until the item is fired, but paper cannot change, so the field prints as it came.
func (r *reader) isRushOrHold(id fieldID, words []string) bool {
	for _, h := range r.of(id) {
		isFlag := h.v.Kind() == 't' || h.v.Kind() == 'f'
		says := h.v.Kind() == 't' || h.v.Kind() == '"' && slices.Contains(words, folded(h.v.Text()))
		if !isFlag && !says {
			continue
		}

		if id != fieldHold {
			r.markRead(h.v, id)
		}
		return says
	}
	return false
}

// promised reads when the order is wanted. Seconds and milliseconds since 1970 become a time; a text stays as it is.
func (r *reader) promised() string {
	for _, h := range r.of(fieldPromised) {
		text := scalarText(h.v)
		if h.v.Kind() == '0' {
			number, err := strconv.ParseInt(text, 10, 64)
			switch {
			case err == nil && len(text) == 10:
				text = time.Unix(number, 0).UTC().Format(time.RFC3339)
			case err == nil && len(text) == 13:
				text = time.UnixMilli(number).UTC().Format(time.RFC3339)
			}
		} else if h.v.Kind() != '"' || isBlank(text) {
			continue
		}

		r.markRead(h.v, fieldPromised)
		return text
	}
	return ""
}

// notes reads text or a list of text at every path, not only the first: a service that fills both
// note and specialInstructions means both, and the second may be the allergy. So may be a value of
// another type, which is quoted as JSON. A text that occurs twice is printed once.
func (r *reader) notes(id fieldID) []string {
	var all textSet
	for _, h := range r.of(id) {
		add := func(v contract.Value) {
			if text := noteText(v); !isBlank(text) {
				r.markRead(h.v, id)
				all.add(text)
			}
		}

		if h.v.Kind() != '[' {
			add(h.v)
			continue
		}
		for e := range h.v.All() {
			add(e)
		}
	}
	return all.texts
}

// noteText is the text of a note. The text may be wrapped in an object that holds nothing else, as in
// {"text": "no nuts"}; any other value is quoted as JSON. It is blank if there is no note.
func noteText(v contract.Value) string {
	isNone := v.Kind() == '"' && strings.EqualFold(strings.TrimSpace(v.Text()), "none")
	if v.Kind() == 'f' || isNone || isEmpty(v) { // services send these for "no note"
		return ""
	}
	if v.Kind() != '{' {
		return asText(v)
	}

	text := ""
	for member := range v.All() {
		switch member.Key() {
		case "text", "note", "value", "name", "message":
			if member.Kind() == '"' && text == "" && !isBlank(member.Text()) {
				text = plainText(member.Text())
				continue
			}
		}
		// A second text, or a member of an unknown name: quoting the whole object loses nothing.
		if key := member.Key(); key != contract.FieldID && !ticket.IsMetadata(key) && !isEmpty(member) {
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
func isEmpty(v contract.Value) bool {
	switch v.Kind() {
	case '"':
		return isBlank(v.Text())
	case '{', '[':
		for e := range v.All() {
			if !isEmpty(e) {
				return false
			}
		}
		return true
	}
	return v == nil || v.Kind() == 'n'
}

// parseBool reads true, 1, "true", "yes", "y" and "1" as true and their opposites as false, in any case, and the
// numbers in any spelling, such as 1.0. The wide reading is for voids: "isVoid": "yes" must not be cooked.
func parseBool(v contract.Value) (value, ok bool) {
	switch v.Kind() {
	case 't', 'f':
		return v.Kind() == 't', true
	case '"':
		switch strings.ToLower(strings.TrimSpace(v.Text())) {
		case "true", "yes", "y":
			return true, true
		case "false", "no", "n":
			return false, true
		}
	}

	number, ok := toDecimal(v)
	switch plain := number.String(); {
	case ok && plain == "1":
		return true, true
	case ok && plain == "0":
		return false, true
	}
	return false, false
}

// asText is text as it is and any other value as JSON.
func asText(v contract.Value) string {
	if v.Kind() == '"' {
		return plainText(v.Text())
	}
	return v.JSON()
}

// scalarText is a scalar as people write it: 18 and not 1.80e1.
func scalarText(v contract.Value) string {
	if v.Kind() == '0' {
		number, _ := toDecimal(v) // which reads any number of JSON
		return number.String()
	}
	return asText(v)
}
