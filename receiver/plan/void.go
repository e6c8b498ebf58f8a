package plan

import (
	"slices"
	"strings"

	"ticketrail/receiver/contract"
)

// The spellings by which a record or an item says that it is a cancellation, for names and values without case and
// punctuation. ticket.fields.void adds to them and cannot replace them: a path forgotten in the configuration would
// turn a void into an order. receiver/README.md shows this table.
var (
	// voidFlags are flags: true, 1 or "yes".
	voidFlags = []string{"void", "voided", "cancel", "cancelled", "canceled", "deleted", "isVoid", "isVoided",
		"isCancelled", "isCanceled", "isDeleted"}
	// voidTimes say when it was cancelled, if they have a value.
	voidTimes = []string{"voidedat", "voiddate", "voidtime", "cancelledat", "canceledat", "cancelleddate",
		"canceleddate", "deletedat", "deleteddate"}
	// statusFields may have one of voidWords as their value.
	statusFields = []string{"status", "kdsstatus", "itemstatus", "orderstatus", "state", "action", "type", "operation",
		"changetype"}
	voidWords = []string{"void", "voided", "cancel", "canceled", "cancelled", "delete", "deleted"}
	// presenceFlags say of a modifier that its dish has it, unless they are false.
	presenceFlags = []string{"included", "isIncluded", "selected", "isSelected", "chosen", "isChosen", "added",
		"isAdded", "active", "isActive"}
	// removedWords cancel an item or a record. Of a modifier they say that its dish is made without it.
	removedWords = []string{"remove", "removed"}
)

// void says whether a record or an item is a cancellation, in any of the spellings that services use. modifier says
// that it belongs to an item. The caller applies it to everything nested below. All of them are read, and one is
// enough: an order that is mistaken for a void is noticed at the table, a void that is mistaken for an order is cooked.
func (r *reader) void(quantity decimal, modifier bool) bool {
	isVoid := quantity.neg
	for _, h := range r.of(fieldVoid) {
		if saysVoid(h.kind, h.v, modifier) {
			isVoid = true
			r.mark(h.v, fieldVoid)
		} else if yes, readable := parseBool(h.v); h.kind != voidStatus && readable && !yes {
			r.mark(h.v, fieldVoid)
		}
	}
	return isVoid
}

// A flagKind says how a field says that it is a cancellation, or that something is taken away.
type flagKind int

const (
	voidConfigured flagKind = iota // in any of the ways below
	voidFlag
	voidTime
	voidStatus
	flagOfPresence // taken away if it is false
)

// saysVoid says whether a field is a cancellation.
func saysVoid(kind flagKind, v contract.Value, modifier bool) bool {
	switch kind {
	case voidFlag:
		yes, _ := parseBool(v)
		return yes
	case voidTime:
		return v.Kind() != 'f' && !isEmpty(v)
	case voidStatus:
		if v.Kind() != '"' {
			return false
		}
		word := folded(v.Text())
		return slices.Contains(voidWords, word) || !modifier && slices.Contains(removedWords, word)
	}
	isTime := v.Kind() == '"' && timeValue.MatchString(strings.TrimSpace(v.Text()))
	return isTime || saysVoid(voidFlag, v, modifier) || saysVoid(voidStatus, v, modifier)
}
