package plan

import (
	"cmp"
	"slices"
	"strings"

	"ticketrail/receiver/contract"
)

// The remainder of an object is the part that no path has read. The contract names few fields, so real orders always
// have some that are not configured; a guest's allergy may be one of them. A field that is not noise (noise.go)
// prints under its item as it came: `allergyNotes: severe peanut`. Nothing is guessed about its meaning.

// At most so many lines of a remainder print: a ticket that no cook reads to its end is useless.
const (
	maxItemRemainder   = 4
	maxRecordRemainder = 6
)

// The cost of a hostile body is limited too.
const (
	maxListDepth = 8  // of lists in each other that are read; a deeper one prints as JSON
	maxSaid      = 20 // texts that each unread value is compared with
)

// An unread is a value that no path has read.
type unread struct {
	key     string // dotted path within its item or record
	value   string
	cancels bool // something in its value may say that nothing is to be cooked
}

func (u unread) String() string { return u.key + ": " + u.value }

// A childList is a list of objects with names that no path has read: a modifier that is not cooked is a lost order.
type childList struct {
	key   string // dotted path within its item or record
	items contract.Value
}

// A remainder is the unread part of one item or record.
type remainder struct {
	fields  []unread
	lists   []childList
	hasList bool // it has a list, of whatever
}

// remainder returns the part of its object that r has not read. said are the texts of the ticket's line or header: a
// value that says the same again, as a displayName beside an equal name, is left out.
func (r *reader) remainder(said ...string) remainder {
	collector := remainderCollector{splitter: r.splitter, said: said[:min(len(said), maxSaid)]}
	for member := range r.obj.All() {
		collector.add("", member)
	}
	return collector.rest
}

// A remainderCollector walks over an object.
type remainderCollector struct {
	*splitter
	said        []string
	ofAllergens bool   // it is the value of fieldAllergens, which prints whole
	listKey     string // of the list that the object is in; empty: it is in none
	depth       int    // of lists in each other
	rest        remainder
}

// prints says whether a value prints: it is not silenced, or it is about allergens.
func (c *remainderCollector) prints(v contract.Value) bool {
	return c.ofAllergens || c.marks[v.Index()] != markSilenced
}

// add adds a member of the object at the dotted path parent.
func (c *remainderCollector) add(parent string, v contract.Value) {
	if c.isRead(v) || noise(cmp.Or(parent, c.listKey), v) != "" {
		return
	}

	path := joined(parent, v.Key())
	switch v.Kind() {
	case '{':
		if strings.Count(path, ".") >= contract.MaxDepth {
			if c.prints(v) {
				c.text(path, v.JSON(), false)
			}
			return
		}
		for member := range v.All() {
			c.add(path, member)
		}
	case '[':
		c.list(path, v)
	default:
		if c.prints(v) {
			c.text(path, scalarText(v), false)
		}
	}
}

// noise says why a member of the object at the path parent is noise, by its key or its value; "": it is none.
func noise(parent string, v contract.Value) (why string) {
	key := v.Key()
	if why := noiseKey(key); why != "" && !isForCook(v, why) {
		return why
	}
	if key == keyInstructions && isLayout(v) {
		return "the service's own receipt"
	}

	return noiseValue(parent, key, v)
}

// list adds a list: as children if its elements have names, unless its key says that they are no dishes, or it is part
// of a text.
func (c *remainderCollector) list(path string, list contract.Value) {
	if isEmpty(list) {
		return
	}

	c.rest.hasList = true
	if c.depth == 0 && !c.ofAllergens && c.areItems(list) && !hasWordLike(list.Key(), warningWords) {
		c.rest.lists = append(c.rest.lists, childList{path, list})
		return
	}

	if texts, cancels := c.texts(list.Key(), list); len(texts) > 0 {
		c.text(path, strings.Join(texts, ", "), cancels)
	}
}

// areItems says whether the elements of a list are objects, and at least one has a name.
func (c *remainderCollector) areItems(list contract.Value) bool {
	named := false
	for e := range list.All() {
		if e.Kind() != '{' {
			return false
		}
		named = named || c.reader(e).find(fieldName, false) != ""
	}
	return named
}

// texts are the texts of the elements of a list under a key, without those that are read or noise. cancels says that a
// field of an element may say that nothing is to be cooked.
func (c *remainderCollector) texts(key string, list contract.Value) (texts []string, cancels bool) {
	var all textSet
	for e := range list.All() {
		text, mayCancel := c.element(key, e)
		if text != "" {
			all.add(text)
		}
		cancels = cancels || mayCancel
	}
	return all.texts, cancels
}

// element is the text of an element of a list, "" if it is read or noise: of {"name": "nuts", "severity": "high"} it is
// nuts (severity: high). For cancels, see texts.
func (c *remainderCollector) element(key string, e contract.Value) (text string, cancels bool) {
	inner := remainderCollector{splitter: c.splitter, ofAllergens: c.ofAllergens, listKey: key, depth: c.depth + 1}
	switch {
	case c.isRead(e) || isEmpty(e):
		return "", false
	case e.Kind() == '{' && c.depth < maxListDepth:
		for member := range e.All() {
			inner.add("", member)
		}
		return inner.asElement()
	case e.Kind() == '[' && c.depth < maxListDepth:
		texts, cancels := inner.texts(key, e)
		return strings.Join(texts, ", "), cancels
	case e.Kind() == '[', e.Kind() == '{':
		if c.prints(e) {
			return e.JSON(), false
		}
	case noiseValue("", key, e) == "" && c.prints(e):
		return scalarText(e), false
	}
	return "", false
}

// asElement is the text of an object in a list, its name first.
func (c *remainderCollector) asElement() (text string, cancels bool) {
	name, texts := "", []string(nil)
	for _, u := range c.rest.fields {
		cancels = cancels || u.mayCancel()
		if name == "" && (len(c.rest.fields) == 1 || sameName(u.key, contract.FieldName)) {
			name = u.value
		} else {
			texts = append(texts, u.String())
		}
	}

	rest := strings.Join(texts, ", ")
	if name != "" && rest != "" {
		return name + " (" + rest + ")", cancels
	}
	return name + rest, cancels
}

func (c *remainderCollector) text(path, value string, cancels bool) {
	isSaid := slices.ContainsFunc(c.said, func(s string) bool { return strings.EqualFold(s, value) })
	_, isNumber := parseDecimal(value) // an equal one says something else: a seat and a spoon
	if !isSaid || isNumber || hasWordLike(path, allergyWords) {
		c.rest.fields = append(c.rest.fields, unread{path, value, cancels})
	}
}

// allergens are the texts of the fields for allergens, each as `key: text, text`. They print whole, however long the
// remainder is.
func (r *reader) allergens() (lines []string) {
	for _, h := range slices.Clone(r.of(fieldAllergens)) { // texts makes other readers
		collector := remainderCollector{splitter: r.splitter, ofAllergens: true}
		if h.v.Kind() != '[' {
			collector.add("", h.v)
		} else if texts, cancels := collector.texts(h.v.Key(), h.v); len(texts) > 0 {
			collector.text(h.v.Key(), strings.Join(texts, ", "), cancels)
		}

		for _, u := range collector.rest.fields {
			lines = append(lines, u.String())
		}
		if len(collector.rest.fields) > 0 {
			r.markRead(h.v, fieldAllergens)
		}
	}
	return lines
}

// withLists is the remainder with its lists as texts, for a ticket that has no lines.
func (rest remainder) withLists() remainder {
	for _, l := range rest.lists {
		rest.fields = append(rest.fields, unread{key: l.key, value: l.items.JSON()})
	}
	return rest
}

// addTo adds the lines that print to notes, and counts them: first those about allergies, all of them; then
// those that may be a warning, then the others, limit lines in all, with the one that names how many more there are.
func (rest remainder) addTo(notes *[]string, unreadNotes, more *int, limit int) {
	var ranks [3][]unread
	for _, u := range rest.fields {
		rank := 2
		switch {
		case hasWordLike(u.key, allergyWords):
			rank = 0
		case hasWordLike(u.key, warningWords):
			rank = 1
		}
		ranks[rank] = append(ranks[rank], u)
	}

	for i, u := range slices.Concat(ranks[:]...) {
		if i >= max(limit-1, len(ranks[0])) && len(rest.fields) > limit {
			*more = len(rest.fields) - i
			return
		}
		*notes = append(*notes, u.String())
		*unreadNotes++
	}
}

// takeCancelling takes the fields out of rest that may say that nothing is to be cooked, and returns them for
// MayCancel: they print as a question. They are a void only if ticket.fields.void names them.
func (rest *remainder) takeCancelling() string {
	var said []string
	rest.fields = slices.DeleteFunc(rest.fields, func(u unread) bool {
		is := u.mayCancel()
		if is {
			said = append(said, u.String())
		}
		return is
	})
	return strings.Join(said, ", ")
}

// removal reads the fields that say that the line is taken away from its dish. It returns the words to print ahead of
// its name: [NO] Onion must not read Onion. See takeRemoval for unread fields.
func (r *reader) removal() string {
	var words strings.Builder
	for _, h := range r.of(fieldRemoved) {
		switch yes, isFlag := parseBool(h.v); {
		case h.kind == includedFlag && isFlag:
			if !yes {
				words.WriteString("[" + h.v.Key() + ": " + scalarText(h.v) + "] ")
			}
		case h.kind == includedFlag:
			continue
		case isFlag && yes:
			words.WriteString("[" + h.v.Key() + "] ")
		case !isFlag && h.v.Kind() == '"' && !isBlank(h.v.Text()):
			words.WriteString("[" + strings.ToUpper(plainText(h.v.Text())) + "] ")
		case !isFlag:
			continue
		}
		r.markRead(h.v, fieldRemoved)
	}
	return words.String()
}

// takeRemoval takes the fields out of rest that look like removals, and returns the same as [reader.removal].
func (rest *remainder) takeRemoval() string {
	var words strings.Builder
	rest.fields = slices.DeleteFunc(rest.fields, func(u unread) bool {
		word := u.removal()
		words.WriteString(word)
		return word != ""
	})
	return words.String()
}

// removal is the word to print ahead of the name of a line that a field takes away from its dish; "": it does not.
//
//	key                              value                                   word
//	has one of removalWords          true, yes, y; 1 too, unless it is "no"  [key]
//	ends with one of removalActions  one of removalValues or shortValues     [VALUE]
//	ends with one of removalKinds    one of removalValues, no shortValue     [VALUE]
//
// The end of a key is its last word that is none of wrappers.
func (u unread) removal() string {
	value := folded(u.value)
	isYes := value == "true" || value == "yes" || value == "y"
	isShort := slices.Contains(shortValues, value)

	switch {
	case isYes || value == "1":
		removes := func(word string) bool { // no: 1 and lineNo: 1 are the number of the line
			return slices.Contains(removalWords, word) && (isYes || word != "no")
		}
		if slices.ContainsFunc(wordsOf(u.key), removes) {
			return "[" + u.key + "] "
		}
	case isShort || slices.Contains(removalValues, value):
		about := wordsOf(u.key)
		for len(about) > 1 && slices.Contains(wrappers, about[len(about)-1]) {
			about = about[:len(about)-1]
		}

		last := strings.Join(about[max(0, len(about)-1):], "")
		if slices.Contains(removalActions, last) || !isShort && slices.Contains(removalKinds, last) {
			return "[" + strings.ToUpper(u.value) + "] "
		}
	}
	return ""
}
