package plan

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"ticketrail/receiver/contract"
)

// The remainder of an object is what it says and no path has read. The contract names few fields, so real orders always
// have some that nobody configured; a guest's allergy may be one of them. What is not noise (noise.go) prints under its
// item as it came: `allergyNotes: severe peanut`. Nothing is guessed about its meaning.

// At most so many lines of a remainder print: a ticket that nobody reads to its end helps nobody either.
const (
	maxItemRemainder   = 4
	maxRecordRemainder = 6
)

// notRead is in the place of a field's name in a trace.
const notRead = "NOT READ"

// An unread is a value that no path has read.
type unread struct {
	key   string // dotted path within its item or record
	value string
}

func (u unread) String() string { return u.key + ": " + u.value }

// A childList is a list of objects with names that no path has read: a modifier that nobody cooks is a lost order.
type childList struct {
	key   string // dotted path within its item or record
	items []map[string]any
}

// A remainder is what is unread in one item or record.
type remainder struct {
	fields  []unread
	lists   []childList
	hasList bool // it has a list, of whatever
}

// remainder returns what r has not read of its object. said are the texts of the ticket's line or header: a value that
// says the same again, as a displayName beside an equal name, is left out.
func (r *reader) remainder(said ...string) (rest remainder) {
	c := remainderCollector{reader: r, said: said}
	for _, key := range r.keys() {
		// The items of a record are read one by one, and so are the children of an item.
		if key != contract.FieldChildItems && (r.isItem || key != contract.FieldItems) {
			c.add(key, key, r.obj[key], 1)
		}
	}
	if r.found != nil {
		for _, u := range c.rest.fields {
			*r.found = append(*r.found, Found{Field: notRead, Path: u.key, Value: u.value})
		}
	}
	return c.rest
}

// A remainderCollector walks over an object.
type remainderCollector struct {
	reader *reader
	said   []string
	rest   remainder
}

// add adds a value of the object. path is its dotted path, key the last key of it.
func (c *remainderCollector) add(path, key string, v any, depth int) {
	if slices.Contains(c.reader.used, path) || noiseKey(key) || key == fieldInstructions && isLayout(v) {
		return
	}

	switch v := v.(type) {
	case map[string]any:
		if depth == contract.MaxDepth {
			c.text(path, asJSON(v))
			return
		}
		for _, k := range slices.Sorted(maps.Keys(v)) {
			c.add(path+"."+k, k, v[k], depth+1)
		}
	case []any:
		c.list(path, key, v)
	default:
		if !noiseValue(key, v) {
			c.text(path, scalarText(v))
		}
	}
}

// list adds a list: as children if its elements have names, unless its key says that they are no dishes.
func (c *remainderCollector) list(path, key string, list []any) {
	if isEmpty(list) {
		return
	}
	c.rest.hasList = true
	var items []map[string]any
	named := false
	for _, e := range list {
		item, ok := e.(map[string]any)
		if !ok {
			items = nil
			break
		}
		items = append(items, item)
		named = named || newReader(c.reader.paths, item, nil).text(fieldName) != ""
	}
	if named && len(items) == len(list) && !hasWordLike(key, warningWords) {
		c.rest.lists = append(c.rest.lists, childList{path, items})
		return
	}

	var texts []string
	for i, e := range list {
		if slices.Contains(c.reader.used, path+"."+strconv.Itoa(i)) {
			continue
		}
		if s := c.element(key, e); s != "" && !slices.Contains(texts, s) {
			texts = append(texts, s)
		}
	}
	if len(texts) > 0 {
		c.text(path, strings.Join(texts, ", "))
	}
}

// element is the text of an element of a list, "" if it is noise.
func (c *remainderCollector) element(key string, e any) string {
	switch e := e.(type) {
	case map[string]any:
		inner := remainderCollector{reader: &reader{paths: c.reader.paths, obj: e}}
		for _, k := range slices.Sorted(maps.Keys(e)) {
			inner.add(k, k, e[k], 1)
		}
		var texts []string
		for _, u := range inner.rest.fields {
			if len(inner.rest.fields) == 1 && len(inner.rest.lists) == 0 {
				return u.value // {"name": "sesame"} is sesame
			}
			texts = append(texts, u.String())
		}
		for _, l := range inner.rest.lists {
			texts = append(texts, l.key+": "+asJSON(l.items))
		}
		return strings.Join(texts, " ")
	case []any:
		if isEmpty(e) {
			return ""
		}
		return asJSON(e)
	default:
		if noiseValue(key, e) {
			return ""
		}
		return scalarText(e)
	}
}

func (c *remainderCollector) text(path, value string) {
	if !slices.ContainsFunc(c.said, func(s string) bool { return strings.EqualFold(s, value) }) {
		c.rest.fields = append(c.rest.fields, unread{path, value})
	}
}

// notes are the lines that print, at most limit: first those that may be a warning, then the others by key.
func (rest remainder) notes(limit int) (lines []string) {
	fields := slices.Clone(rest.fields)
	slices.SortStableFunc(fields, func(a, b unread) int {
		return cmp.Compare(rankOf(a), rankOf(b))
	})
	for i, u := range fields {
		if i == limit-1 && len(fields) > limit {
			return append(lines, fmt.Sprintf("and %d more fields that are not read", len(fields)-i))
		}
		if u.mayCancel() {
			lines = append(lines, "** cancelled? "+u.String()+" **")
			continue
		}
		lines = append(lines, u.String())
	}
	return lines
}

// rankOf orders unread fields by how bad it is to miss one.
func rankOf(u unread) int {
	switch {
	case u.mayCancel():
		return 0
	case hasWordLike(u.key, warningWords):
		return 1
	}
	return 2
}

// mayCancel says that a field may mean that nothing is to be cooked. Only the configuration can say that it does.
func (u unread) mayCancel() bool {
	cancelling := func(w string) bool {
		return strings.HasPrefix(w, "void") || strings.HasPrefix(w, "cancel") || strings.HasPrefix(w, "delete")
	}
	words := wordsOf(u.value)
	return slices.ContainsFunc(wordsOf(u.key), cancelling) || len(words) <= 2 && slices.ContainsFunc(words, cancelling)
}

// The words of flags, and of the values of actions, that take something away from a dish.
var (
	removalWords   = []string{"remove", "removed", "no", "without", "exclude", "excluded", "omit", "omitted", "minus"}
	removalActions = []string{"action", "prefix", "type", "operation", "kind", "modification", "modifier"}
)

// takeRemoval takes the fields out of rest that say that the line is taken away from its dish, and returns the words to
// print ahead of its name: [NO] Onion must not read Onion.
func (rest *remainder) takeRemoval() (marks string) {
	rest.fields = slices.DeleteFunc(rest.fields, func(u unread) bool {
		key, value := wordsOf(u.key), normalized(u.value)
		isAction := len(key) > 0 && slices.Contains(removalActions, key[len(key)-1])
		removes := func(word string) bool { return slices.Contains(removalWords, word) }
		switch {
		case isAction && removes(value):
			marks += "[" + strings.ToUpper(u.value) + "] "
		case value == "true" && slices.ContainsFunc(key, removes):
			marks += "[" + u.key + "] "
		default:
			return false
		}
		return true
	})
	return marks
}

// scalarText is a scalar as people write it.
func scalarText(v any) string {
	if n, ok := v.(json.Number); ok {
		return plainNumber(n.String())
	}
	return asText(v)
}

// fieldInstructions is the record's field that lays out the service's own receipt: a list of commands.
const fieldInstructions = "instructions"

// isLayout says whether a value is such a list.
func isLayout(v any) bool {
	list, _ := v.([]any)
	for _, e := range list {
		if command, ok := e.(map[string]any); !ok || command["command"] == nil {
			return false
		}
	}
	return len(list) > 0
}

// instructionTexts are the texts of the service's own receipt. They say what is ordered if there are no items.
func instructionTexts(v any) (texts []string) {
	if !isLayout(v) {
		return nil
	}
	for _, e := range v.([]any) {
		command := e.(map[string]any)
		if word, _ := command["command"].(string); !strings.EqualFold(word, "TEXT") {
			continue
		}
		left, _ := command["value"].(string)
		right, _ := command["value2"].(string)
		if text := strings.TrimSpace(plainText(left) + " " + plainText(right)); !isBlank(text) {
			texts = append(texts, text)
		}
	}
	return texts
}
