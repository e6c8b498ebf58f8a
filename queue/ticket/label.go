package ticket

import (
	"slices"
	"strings"
	"unicode"
)

// A service has one field for a table, a guest's name and the number of a delivery service, and one for the
// number that is called out. The labels below make of them what people say in a kitchen.

// NumberLabel is an order's number as it is called out: "#18" for 18 and for #18, "" for "". What is more
// than one word is said as it is: "UberEats 4F2A".
func NumberLabel(number string) string {
	number = strings.TrimPrefix(number, "#")
	if number == "" || strings.Contains(number, " ") {
		return number
	}
	return "#" + number
}

// TableLabel is what people call the table of an order of that type: "Table 12" for 12, "Table B10" for B10.
// The word stands only before a number, which may have up to two letters. Anything else is a name and is
// said as it is: "Priya", "Terrace 4", "UberEats 4F2A", "Table 12". There is no word either if the order
// leaves the house, see [Leaves].
func TableLabel(table, orderType string) string {
	letters, digits := 0, 0
	for _, r := range table {
		switch {
		case unicode.IsLetter(r):
			letters++
		case unicode.IsDigit(r):
			digits++
		}
	}
	if digits == 0 || letters > 2 || Leaves(orderType) {
		return table
	}
	return "Table " + table
}

// Leaves says whether an order of that type is not eaten at a table: a take-away, a collection, a delivery.
// An unknown type is eaten at a table.
func Leaves(orderType string) bool {
	letters := strings.Map(func(r rune) rune { // Take-Away, take away and TAKEAWAY are one word
		if unicode.IsLetter(r) {
			return unicode.ToLower(r)
		}
		return -1
	}, orderType)
	return slices.ContainsFunc(leavingTypes[:], func(t string) bool { return strings.Contains(letters, t) })
}

var leavingTypes = [...]string{
	"takeaway", "takeout", "carryout", "togo", "pickup", "collect", "deliver", "drivethr", "curbside", "kerbside",
}
