package plan

import (
	"maps"
	"regexp"
	"slices"
	"strings"

	"ticketrail/receiver/contract"
)

// A fieldID is one thing that a ticket says. Each has a list of paths, which the operator can
// replace: the contract does not state where services put these things.
type fieldID int

const (
	fieldName        fieldID = iota // the dish; an item without one prints as its JSON
	fieldQuantity                   // how many; absent means 1, below zero means void
	fieldRefire                     // made a second time; holds for everything nested below
	fieldSort                       // position on the ticket; see splitter.splitItems
	fieldNote                       // special requests; all of the paths are read
	fieldSeat                       // who gets it
	fieldCourse                     // when it is served
	fieldChildren                   // lists of modifiers; childItems is always one, see [reader.children]
	fieldRemoved                    // says that a modifier is taken away from its dish
	fieldAllergens                  // of an item or a record; all of the paths are read
	fieldVoid                       // of an item or a record; see [reader.void]
	fieldHold                       // of an item or a record: not to be made yet; see [reader.isRushOrHold]
	fieldNumber                     // the number that is called out
	fieldTable                      // where it goes
	fieldServer                     // who took the order
	fieldEmployee                   // id to look the server's name up by, if there is no name
	fieldType                       // dine in, take away …
	fieldGuests                     // number of guests
	fieldRecordNote                 // notes for the whole ticket; all of the paths are read
	fieldRush                       // to be made before the other orders; see reader.isRushOrHold
	fieldDestination                // the printer that the service names; shown, not used for routing
	fieldCustomer                   // whose it is
	fieldPromised                   // when it is wanted
	fieldCheck                      // id of the check, which holds for several orders
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
		"productName", "modifierName", "optionName", "groupName", "product.name", "item.name", "menuItem.name"}},
	fieldQuantity: {"quantity", []string{"quantity", "qty", "count", "quantity.amount", "quantity.value"}},
	fieldRefire:   {"refire", []string{"isRefire", "refire"}},
	fieldSort:     {"sort", []string{"categoryPriority", "sortOrder"}},
	fieldNote: {"note", []string{"note", "notes", "specialInstructions", "instructions", "comment", "comments",
		"specialRequest", "specialRequests"}},
	fieldSeat:      {"seat", []string{"seat", "seatNumber"}},
	fieldCourse:    {"course", []string{"course", "courseName"}},
	fieldChildren:  {"children", []string{contract.FieldChildItems}},
	fieldRemoved:   {"removed", []string{"isRemoved", "removed"}},
	fieldAllergens: {"allergens", []string{"allergens", "allergies", "allergyNotes"}},
	fieldVoid:      {"void", voidFlags},
	fieldHold:      {"hold", []string{"hold", "isHeld", "held", "onHold", "fireStatus"}},
	fieldNumber: {"number", []string{"orderNumber", "checkNumber", "ticketNumber", "number", "displayNumber",
		"displayId", "tabNumber", "pickupNumber", "orderId", "order.number", "check.number"}},
	fieldTable: {"table", []string{"checkName", "tableName", "tableNumber", "table.name", "table"}},
	fieldServer: {"server", []string{"checkOwner", "serverName", "employeeName", "employee.name", "server",
		"server.firstName"}},
	fieldEmployee: {"employee", []string{"checkOwnerEmployeeId", "employeeId", "serverId", "employee.id"}},
	fieldType:     {"type", []string{"orderType", "serviceType", "diningOption", "type"}},
	fieldGuests:   {"guests", []string{"guests", "guestCount", "covers", "numberOfGuests", "partySize"}},
	// Not instructions, as for an item: a record's lay out the service's own receipt.
	fieldRecordNote: {"record_note", []string{"note", "notes"}},
	fieldRush:       {"rush", []string{"isRush", "rush", "isPriority", "priority"}},
	// Its key is the services' name for it. It is no station of the routes.
	fieldDestination: {"station", []string{"printer", "printerName", "station"}},
	fieldCustomer: {"customer", []string{"customerName", "customer.name", "customer", "guestName", "tabName",
		"ticketName", "recipient.name"}},
	fieldPromised: {"promised", []string{"promisedTime", "promisedAt", "promised", "dueAt", "dueTime", "readyBy",
		"pickupTime", "scheduledFor", "fireAt", "estimatedFulfillmentDate"}},
	fieldCheck: {"check", []string{"checkId", "orderId", "orderGuid", "ticketId"}},
}

// DefaultFields returns the built-in paths of each key of ticket.fields.
func DefaultFields() map[string][]string {
	all := map[string][]string{}
	for _, f := range fields {
		all[f.name] = f.paths
	}
	return all
}

// A fieldPath is one configured path of a field.
type fieldPath struct {
	field fieldID
	rank  int      // of the path among the paths of the field
	key   string   // the first key of the path
	rest  []string // the others
	kind  flagKind // of fieldVoid and fieldRemoved
}

// fieldPaths has the paths by their first key, as [fold] has it. A Plan has its own, so a reload never
// changes the fields of a request that is being planned.
type fieldPaths map[string][]fieldPath

// compilePaths are the configured paths of each field, or the default ones; paths of a void are added to those. bad
// gets each mistake. An empty list switches a field off; package config refuses one in the configuration file, where it
// is more likely a mistake.
func compilePaths(configured map[string][]string, bad func(name, format string, args ...any)) fieldPaths {
	all := fieldPaths{}
	all.add(fieldVoid, voidFlag, voidFlags)
	all.add(fieldVoid, voidTime, voidTimes)
	all.add(fieldVoid, voidStatus, statusFields)
	all.add(fieldRemoved, includedFlag, includedFlags)

	var names []string
	for id, f := range fields {
		names = append(names, f.name)
		paths, isConfigured := configured[f.name]
		kind := noKind
		switch {
		case fieldID(id) == fieldVoid: // its default paths were added above, each with its kind
			kind = voidConfigured
		case !isConfigured:
			paths = f.paths
		}

		// Without a quantity, a void that is only a minus sign would be taken for an order.
		needed := fieldID(id) == fieldName || fieldID(id) == fieldQuantity
		if needed && len(paths) == 0 {
			bad(f.name, "empty; name at least one path, such as %s", f.paths[0])
		}
		for i, p := range paths {
			if slices.Contains(strings.Split(strings.TrimSpace(p), "."), "") {
				bad(f.name, "%q (number %d of the list) is not a path; use keys with dots between them, such as %s",
					strings.TrimSpace(p), i+1, f.paths[0])
			}
		}
		all.add(fieldID(id), kind, paths)
	}

	for _, name := range slices.Sorted(maps.Keys(configured)) {
		if !slices.Contains(names, name) {
			bad(name, "no such field; use one of %s", strings.Join(names, ", "))
		}
	}
	return all
}

func (f fieldPaths) add(id fieldID, kind flagKind, paths []string) {
	for rank, p := range paths {
		keys := strings.Split(strings.TrimSpace(p), ".")
		name := folded(keys[0])
		f[name] = append(f[name], fieldPath{id, rank, keys[0], keys[1:], kind})
	}
}

// A flagKind says how a field says that it is a cancellation, or that something is taken away.
type flagKind int

const (
	noKind         flagKind = iota // it is no such field, or a removal that has no kind
	voidConfigured                 // in any of the three ways below; as a time, only by a text that is one
	voidFlag
	voidTime
	voidStatus
	includedFlag // taken away if it is false
)

// The spellings by which a record or an item says that it is a cancellation, for names and values without case and
// punctuation. ticket.fields.void adds to them and cannot replace them: a path forgotten in the configuration would
// turn a void into an order. receiver/README.md shows this table.
var (
	// voidFlags are flags: true, 1 or "yes".
	voidFlags = []string{"void", "voided", "cancel", "cancelled", "canceled", "deleted", "isVoid", "isVoided",
		"isCancelled", "isCanceled", "isDeleted"}
	// voidTimes say when it was cancelled, if they have a value, and that is no zeroTime.
	voidTimes = []string{"voidedat", "voiddate", "voidtime", "cancelledat", "canceledat", "cancelleddate",
		"canceleddate", "deletedat", "deleteddate"}
	// zeroTime matches a time that was never set, as programs write it: 0 (and not 0000, which is midnight), the year 0
	// of MySQL, the year 1 of .NET and Go (as seconds too), the first second of 1970. Later ones may be of a clock that
	// was not set.
	zeroTime = regexp.MustCompile(`^(?:0(?:\.0+)?|-62135596800(?:000)?|0000-\d\d-\d\d.*|0001-01-01.*|` +
		`1970-01-01[T ]00:00:00(?:[.,]0+)?(?:Z|\+00:?00)?)$`)
	// statusFields may have one of voidStatuses as their value.
	statusFields = []string{"status", "kdsstatus", "itemstatus", "orderstatus", "state", "action", "type", "operation",
		"changetype"}
	voidStatuses = []string{"void", "voided", "cancel", "canceled", "cancelled", "delete", "deleted"}
	// includedFlags say of a modifier that its dish has it, unless they are false.
	includedFlags = []string{"included", "isIncluded", "selected", "isSelected", "chosen", "isChosen", "added",
		"isAdded", "active", "isActive"}
	// removedStatuses cancel an item or a record. Of a modifier they say that its dish is made without it.
	removedStatuses = []string{"remove", "removed"}
)

// The words of flags, and of the values of actions, that take something away from a dish.
var (
	removalWords = []string{"remove", "removed", "no", "without", "exclude", "excluded", "omit", "omitted", "minus",
		"negated"}
	// removalValues are values of keys that end with one of removalKinds or removalActions. shortValues count after
	// removalActions only: {"type": 86} and {"status": "-"} are codes.
	removalValues = append([]string{"removal", "exclusion", "subtract", "subtraction", "less"}, removalWords...)
	shortValues   = []string{"no", "not", "hold", "86", "-", "sin", "sans", "ohne", "senza"}
	removalKinds  = []string{"type", "kind", "status", "state"}

	removalActions = []string{"action", "prefix", "operation", "modification", "modifier", "mod", "sign"}
	// wrappers are the last words of keys that say nothing about their value: preModifier.name.
	wrappers = []string{"name", "value", "label", "text", "code"}
)

// rushWords and holdWords are the texts that mean yes.
var (
	rushWords = []string{"true", "yes", "y", "rush", "rushed", "priority", "high", "highest", "urgent", "asap"}
	holdWords = []string{"true", "yes", "y", "hold", "held", "onhold", "notfired", "unfired"}
)
