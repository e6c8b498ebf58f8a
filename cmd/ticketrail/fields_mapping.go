package main

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"ticketrail/cmd/internal/admin"
	"ticketrail/queue/ticket"
	"ticketrail/receiver/plan"
)

// A suggestion says by which key of ticket.fields a field is mapped: one of a record, and one of an item. Without a
// key it stays as it is, and prints.
type suggestion struct {
	path         *regexp.Regexp // for the path in the record or item, in lower case and without _ and -
	record, item string
	many         bool // the key reads all of its paths, and not only the first that is there
}

// suggestions are tried in order.
var suggestions = []suggestion{
	{regexp.MustCompile(`allerg|diet|intoleran`), "allergens", "allergens", true},
	{path: regexp.MustCompile(`prefix|premodif|remov|without|hold|action`)},
	{regexp.MustCompile(`void|cancel|delete`), "void", "void", true},
	{regexp.MustCompile(`note|remark|instruct|comment|message|request|special|warn|alert|caution|kitchen|chef|hint`),
		"record_note", "note", true},
	{regexp.MustCompile(`(promise|due|pickup(at|time)|ready|scheduled|fireat|deliver(at|ytime)|estimated)[^.]*$`),
		"promised", "", false},
	{regexp.MustCompile(`((customer|recipient|guest).*name|ticketname|tabname)[^.]*$`), "customer", "", false},
	{regexp.MustCompile(`(server|waiter|employee).*name[^.]*$`), "server", "", false},
	{regexp.MustCompile(`((dining|ordertype|servicetype).*(name|type)|ordertype|servicetype)[^.]*$`),
		"type", "", false},
	{regexp.MustCompile(`(guests|covers|numberofcustomers|partysize)[^.]*$`), "guests", "", false},
	{regexp.MustCompile(`table[^.]*$`), "table", "", false},
	{regexp.MustCompile(`course[^.]*$`), "course", "course", false},
	{regexp.MustCompile(`seat[^.]*$`), "", "seat", false},
}

// An object is a record or an item of orders, or their envelope.
type object struct {
	within string // the path of a field in it
	place  string // where its unread fields print
	key    func(suggestion) string
}

// objectOf finds the object of a field. items are the paths of objects that have a name.
func objectOf(path string, items map[string]bool) object {
	for at := strings.LastIndexByte(path, '.'); at > 0; at = strings.LastIndexByte(path[:at], '.') {
		if items[path[:at]] {
			return object{path[at+1:], "under its item", func(s suggestion) string { return s.item }}
		}
	}

	if within, ok := strings.CutPrefix(path, "records."); ok {
		return object{within, "under the header", func(s suggestion) string { return s.record }}
	}
	return object{path, "under the first header", func(suggestion) string { return "" }}
}

// suggest returns the key of ticket.fields for a field. isKnown says that some suggestion is for it.
func (o object) suggest() (key string, many, isKnown bool) {
	path := strings.NewReplacer("_", "", "-", "").Replace(strings.ToLower(o.within))
	for _, s := range suggestions {
		if s.path.MatchString(path) {
			return o.key(s), s.many, true
		}
	}
	return "", false, false
}

// isCode says that a value is nothing that a person has written for a cook: it has digits or underscores, and no blank,
// and is no amount.
func isCode(value string) bool {
	return strings.ContainsAny(value, "0123456789_") && !strings.Contains(value, " ") && !amount.MatchString(value)
}

// amount matches 2, 12oz and 1.5kg, but no phone number.
var amount = regexp.MustCompile(`^\d{1,4}(?:[.,]\d+)?[\pL%°]*$`)

// mapping is the YAML of ticket.fields and ticket.silence: the present configuration, and the keys that map or
// silence the unread fields. A field that may be a warning is mapped, or stays in a comment: whoever pastes the text
// unread hides no warning.
func mapping(all admin.Fields, unread []admin.Field) string {
	items := map[string]bool{"records.items": true}
	for _, v := range all.Venues {
		for _, f := range v.Fields {
			if f.Use == plan.Read && f.As == "name" {
				items[f.Path[:max(0, strings.LastIndexByte(f.Path, '.'))]] = true
			}
		}
	}

	defaults, fields, comments := plan.DefaultFields(), maps.Clone(all.Fields), map[string]string{}
	if fields == nil {
		fields = map[string][]string{}
	}

	var silence, stay strings.Builder
	for _, path := range all.Silence {
		fmt.Fprintf(&silence, "    - %s\n", yamlText(path))
	}

	for _, f := range unread {
		owner := objectOf(f.Path, items)
		about := fmt.Sprintf("%q, %s, prints %s", f.Example, ticket.Plural(f.Requests, "order"), owner.place)
		key, many, isKnown := owner.suggest()
		paths := fields[key]
		if paths == nil {
			paths = defaults[key] // a key that is configured has only its own paths
		}

		switch {
		case key != "" && (many || comments[key] == "") && !slices.Contains(paths, owner.within):
			fields[key] = append(slices.Clip(paths), owner.within)
			comments[key] += fmt.Sprintf("    # %s: %s\n", f.Path, about)
		case (!isKnown || key != "" && !many) && isCode(f.Example) && !plan.MayWarn(f.Path, f.Example):
			fmt.Fprintf(&silence, "    - %s # %s\n", yamlText(f.Path), about)
		default:
			fmt.Fprintf(&stay, "    # - %s # %s\n", yamlText(f.Path), about)
		}
	}

	var out strings.Builder
	out.WriteString("ticket:\n")
	if len(fields) > 0 {
		out.WriteString("  fields:\n")
	}

	for _, key := range slices.Sorted(maps.Keys(fields)) {
		var paths []string
		for _, p := range fields[key] {
			paths = append(paths, yamlText(p))
		}
		fmt.Fprintf(&out, "%s    %s: [%s]\n", comments[key], key, strings.Join(paths, ", "))
	}

	if silence.Len() > 0 {
		out.WriteString("  silence: # no cook sees these\n" + silence.String())
	}
	if stay.Len() > 0 {
		out.WriteString("    # A cook may need these. To silence one, move it to silence:\n")
		out.WriteString(stay.String())
	}

	return out.String()
}

var plainYAML = regexp.MustCompile(`^[A-Za-z][\w.-]*$`)

// yamlText is a text as an element of a YAML list.
func yamlText(s string) string {
	if plainYAML.MatchString(s) {
		return s
	}
	return fmt.Sprintf("%q", s)
}
