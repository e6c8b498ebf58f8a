package plan

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// A Field is something a ticket says, and where the plan looks for it by default. The
// first path that is there, of the right type and not blank wins.
type Field struct {
	Name  string   // the key under ticket.fields
	Of    string   // item (modifiers too), record, or both
	Takes string   // the right type, in words
	Paths []string // dotted; a number is an index into an array
	Doc   string
}

type fieldID int

const (
	fieldName fieldID = iota
	fieldQuantity
	fieldRefire
	fieldSort
	fieldNote
	fieldSeat
	fieldCourse
	fieldNumber
	fieldTable
	fieldServer
	fieldEmployee
	fieldType
	fieldGuests
	fieldRecordNote
	fieldStation
	fieldCount
)

const (
	takesText   = "text"
	takesWord   = "text or number"
	takesNumber = "number or numeric text"
	takesFlag   = "true, false, 1, 0 or one of them as text, yes or no"
	takesNotes  = "text or a list of text; anything else is quoted as JSON"
)

// Fields lists every field with its default paths, in the order of the constants above.
func Fields() []Field {
	return []Field{
		{"name", "item", takesText, []string{"name", "displayName", "itemName", "menuItemName", "title", "label", "description", "product.name", "item.name", "menuItem.name"}, "what to make; an item without one prints as its JSON"},
		{"quantity", "both", takesNumber, []string{"quantity", "qty", "count"}, "how many; absent means 1, below zero means void"},
		{"refire", "both", takesFlag, []string{"isRefire", "refire"}, "made a second time; holds for everything below"},
		{"sort", "item", takesNumber, []string{"categoryPriority", "sortOrder"}, "order on the ticket; an item without one stays behind the item it followed"},
		{"note", "item", takesNotes, []string{"note", "notes", "specialInstructions", "instructions", "comment", "comments", "specialRequest"}, "special requests; all of the paths are read"},
		{"seat", "item", takesWord, []string{"seat", "seatNumber"}, "who gets it"},
		{"course", "both", takesWord, []string{"course", "courseName"}, "when it goes out"},
		{"number", "record", takesWord, []string{"orderNumber", "checkNumber", "ticketNumber", "orderId", "order.number", "check.number"}, "the number people call out"},
		{"table", "record", takesWord, []string{"checkName", "tableName", "tableNumber", "table.name", "table"}, "where it goes"},
		{"server", "record", takesText, []string{"checkOwner", "serverName", "employeeName", "employee.name", "server"}, "who took the order"},
		{"employee", "record", takesWord, []string{"checkOwnerEmployeeId", "employeeId", "serverId", "employee.id"}, "id to look the server's name up by, where there is no name"},
		{"type", "record", takesText, []string{"orderType", "serviceType", "diningOption", "type"}, "dine in, take away …"},
		{"guests", "record", takesWord, []string{"guests", "guestCount", "covers"}, "how many eat"},
		{"record_note", "record", takesNotes, []string{"note", "notes"}, "notes for the whole ticket; all of the paths are read"},
		{"station", "record", takesWord, []string{"printer", "printerName", "station"}, "the printer that the service had in mind"},
	}
}

// path is a dotted path, taken apart.
type path struct {
	text string
	keys []string
}

// fieldSet is the paths of each field.
type fieldSet [fieldCount][]path

func defaultFields() (s fieldSet) {
	for id, f := range Fields() {
		for _, p := range f.Paths {
			s[id] = append(s[id], path{p, strings.Split(p, ".")})
		}
	}
	return s
}

// set overrides the paths of a field. It returns what is wrong, or "".
func (s *fieldSet) set(name string, paths []string) string {
	all := Fields()
	id := slices.IndexFunc(all, func(f Field) bool { return f.Name == name })
	if id < 0 {
		known := make([]string, len(all))
		for i, f := range all {
			known[i] = f.Name
		}
		return "no such field; use one of " + strings.Join(known, ", ")
	}
	// Without a quantity a void that is only a minus sign would be taken for an order.
	if needed := fieldID(id) == fieldName || fieldID(id) == fieldQuantity; needed && len(paths) == 0 {
		return "empty; name at least one path, such as " + all[id].Paths[0]
	}
	out := make([]path, 0, len(paths))
	for i, p := range paths {
		p = strings.TrimSpace(p)
		keys := strings.Split(p, ".")
		if slices.Contains(keys, "") {
			return fmt.Sprintf("%q (number %d of the list) is not a path; use keys with dots between them, such as %s", p, i+1, all[id].Paths[0])
		}
		out = append(out, path{p, keys})
	}
	s[id] = out
	return ""
}

// at returns what is at the path, nil when nothing is.
func (p path) at(obj map[string]any) any {
	var v any = obj
	for _, k := range p.keys {
		switch c := v.(type) {
		case map[string]any:
			v = c[k]
		case []any:
			i, err := strconv.Atoi(k)
			if err != nil || i < 0 || i >= len(c) {
				return nil
			}
			v = c[i]
		default:
			return nil
		}
	}
	return v
}
