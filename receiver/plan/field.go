package plan

import (
	"fmt"
	"slices"
	"strings"
)

// A fieldID is one thing that a ticket says. Each has a list of paths, which the operator can
// replace: the contract does not state where services put these things.
type fieldID int

const (
	fieldName        fieldID = iota // what to make; an item without one prints as its JSON
	fieldQuantity                   // how many; absent means 1, below zero means void
	fieldRefire                     // made a second time; holds for everything nested below
	fieldSort                       // position on the ticket; see splitter.sortedIndices
	fieldNote                       // special requests; all of the paths are read
	fieldSeat                       // who gets it
	fieldCourse                     // when it is served
	fieldNumber                     // the number that is called out
	fieldTable                      // where it goes
	fieldServer                     // who took the order
	fieldEmployee                   // id to look the server's name up by, if there is no name
	fieldType                       // dine in, take away …
	fieldGuests                     // number of guests
	fieldRecordNote                 // notes for the whole ticket; all of the paths are read
	fieldRush                       // to be made before the other orders; see reader.rush
	fieldDestination                // the printer that the service names; shown, not used for routing
	fieldCount
)

// fields has each field's key under ticket.fields and its default paths: dotted, a number is an index
// into an array. The first path that holds a value of the right type that is not blank wins. The
// paths are the names that point-of-sale services are known to use.
var fields = [fieldCount]struct {
	name  string
	paths []string
}{
	fieldName: {"name", []string{"name", "displayName", "itemName", "menuItemName", "title", "label", "description",
		"product.name", "item.name", "menuItem.name"}},
	fieldQuantity: {"quantity", []string{"quantity", "qty", "count"}},
	fieldRefire:   {"refire", []string{"isRefire", "refire"}},
	fieldSort:     {"sort", []string{"categoryPriority", "sortOrder"}},
	fieldNote: {"note", []string{"note", "notes", "specialInstructions", "instructions", "comment", "comments",
		"specialRequest", "specialRequests"}},
	fieldSeat:   {"seat", []string{"seat", "seatNumber"}},
	fieldCourse: {"course", []string{"course", "courseName"}},
	fieldNumber: {"number", []string{"orderNumber", "checkNumber", "ticketNumber", "number", "displayNumber",
		"tabNumber", "pickupNumber", "orderId", "order.number", "check.number"}},
	fieldTable:    {"table", []string{"checkName", "tableName", "tableNumber", "table.name", "table"}},
	fieldServer:   {"server", []string{"checkOwner", "serverName", "employeeName", "employee.name", "server"}},
	fieldEmployee: {"employee", []string{"checkOwnerEmployeeId", "employeeId", "serverId", "employee.id"}},
	fieldType:     {"type", []string{"orderType", "serviceType", "diningOption", "type"}},
	fieldGuests:   {"guests", []string{"guests", "guestCount", "covers"}},
	// Not instructions, as for an item: a record's lay out the service's own receipt.
	fieldRecordNote:  {"record_note", []string{"note", "notes"}},
	fieldRush:        {"rush", []string{"isRush", "rush", "isPriority", "priority"}},
	fieldDestination: {"station", []string{"printer", "printerName", "station"}},
}

// A path is a dotted path and its keys, as configured and as they are compared.
type path struct {
	text string
	keys []string
	same []string // the keys without case, underscores and hyphens
}

func newPath(text string) path {
	p := path{text: text, keys: strings.Split(text, ".")}
	for _, k := range p.keys {
		p.same = append(p.same, normalized(k))
	}
	return p
}

// fieldPaths is the paths of each field. A Plan has its own copy, so a reload never changes the
// fields of a request that is being planned.
type fieldPaths [fieldCount][]path

func defaultPaths() (f fieldPaths) {
	for id := range fields {
		for _, p := range fields[id].paths {
			f[id] = append(f[id], newPath(p))
		}
	}
	return f
}

// set overrides the paths of a field. It returns what is wrong with them, or "". An empty list switches a
// field off; package config refuses one in the configuration file, where it is more likely a mistake.
func (f *fieldPaths) set(name string, paths []string) string {
	names := make([]string, len(fields))
	for i := range fields {
		names[i] = fields[i].name
	}
	id := slices.Index(names, name)
	if id < 0 {
		return "no such field; use one of " + strings.Join(names, ", ")
	}
	example := fields[id].paths[0]
	// Without a quantity, a void that is only a minus sign would be taken for an order.
	if needed := fieldID(id) == fieldName || fieldID(id) == fieldQuantity; needed && len(paths) == 0 {
		return "empty; name at least one path, such as " + example
	}
	out := make([]path, 0, len(paths))
	for i, p := range paths {
		p = strings.TrimSpace(p)
		path := newPath(p)
		if slices.Contains(path.keys, "") {
			return fmt.Sprintf("%q (number %d of the list) is not a path; use keys with dots between them, such as %s",
				p, i+1, example)
		}
		out = append(out, path)
	}
	f[id] = out
	return ""
}
