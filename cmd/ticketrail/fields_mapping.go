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
	words        []string // one is in the path, in lower case
	record, item string
}

// suggestions are tried in order. What is not in them is suggested to be silenced, so they have every word of a
// warning.
var suggestions = []suggestion{
	{[]string{"allerg", "diet", "intoleran"}, "allergens", "allergens"},
	{[]string{"void", "cancel", "delete"}, "void", "void"},
	{[]string{"note", "instruct", "comment", "message", "request", "special", "warn", "alert", "caution", "kitchen",
		"chef"}, "record_note", "note"},
	{[]string{"promise", "due", "pickup", "ready", "schedul", "fire", "deliver"}, "promised", "note"},
	{[]string{"customer", "recipient", "guestname"}, "customer", "note"},
	{[]string{"remove", "hold"}, "", ""},
	{[]string{"course"}, "course", "course"},
	{[]string{"seat"}, "", "seat"},
	{[]string{"table"}, "table", ""},
	{[]string{"server", "waiter", "employee"}, "server", ""},
	{[]string{"dining", "ordertype", "servicetype"}, "type", ""},
	{[]string{"guests", "covers"}, "guests", ""},
}

// An object is a record or an item of orders, or what is around them.
type object struct {
	within string // the path of a field in it
	place  string // where its unread fields print
	key    func(suggestion) string
}

// objectOf finds the object of a field. items are the paths of objects that have a name.
func objectOf(path string, items map[string]bool) object {
	for at := len(path); at > 0; at = strings.LastIndexByte(path[:at], '.') {
		if at < len(path) && items[path[:at]] {
			return object{path[at+1:], "under its item", func(s suggestion) string { return s.item }}
		}
	}
	if within, ok := strings.CutPrefix(path, "records."); ok {
		return object{within, "under the header", func(s suggestion) string { return s.record }}
	}
	return object{path, "under the first header", func(suggestion) string { return "" }}
}

// suggest returns the key of ticket.fields for a field; silence says that no suggestion is for it.
func (o object) suggest() (key string, silence bool) {
	words := strings.NewReplacer("_", "", "-", "").Replace(strings.ToLower(o.within))
	for _, s := range suggestions {
		if slices.ContainsFunc(s.words, func(w string) bool { return strings.Contains(words, w) }) {
			return o.key(s), false
		}
	}
	return "", true
}

// mapping is the YAML of ticket.fields and ticket.silence with what is configured, and with what maps or silences what
// is unread.
func mapping(all admin.Fields, unread []admin.Field) string {
	items := map[string]bool{"records.items": true}
	for _, v := range all.Venues {
		for _, f := range v.Fields {
			if f.Use == plan.Read && f.As == "name" {
				items[f.Path[:max(0, strings.LastIndexByte(f.Path, '.'))]] = true
			}
		}
	}
	defaults, fields, comments := plan.DefaultFields(), map[string][]string{}, map[string]string{}
	maps.Copy(fields, all.Fields)
	var silence, stay strings.Builder
	for _, path := range all.Silence {
		fmt.Fprintf(&silence, "    - %s\n", yamlText(path))
	}
	for _, f := range unread {
		o := objectOf(f.Path, items)
		count := ticket.Plural(f.Requests, "order")
		about := fmt.Sprintf("%s: %q, %s; now it prints %s", f.Path, f.Example, count, o.place)
		key, silent := o.suggest()
		switch {
		case silent:
			fmt.Fprintf(&silence, "    # %s\n    - %s\n", about, yamlText(f.Path))
		case key == "":
			fmt.Fprintf(&stay, "  # %s, and stays so\n", about)
		default:
			if fields[key] == nil {
				fields[key] = defaults[key] // a key that is configured has only its own paths
			}
			if !slices.Contains(fields[key], o.within) {
				fields[key] = append(slices.Clip(fields[key]), o.within)
			}
			comments[key] += fmt.Sprintf("    # %s\n", about)
		}
	}

	var out strings.Builder
	out.WriteString("ticket:\n" + stay.String())
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
		out.WriteString("  silence: # take out what a cook needs\n" + silence.String())
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
