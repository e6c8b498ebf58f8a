package plan

import "slices"

// The spellings by which a record or an item says that it is a cancellation, for names and values without case,
// underscores and hyphens. They are not configured: a path forgotten in the configuration would turn a void into an
// order. receiver/README.md shows this table.
var (
	// voidFlags are flags: true, 1 or "yes".
	voidFlags = []string{"void", "voided", "cancel", "cancelled", "canceled", "deleted", "isvoid", "isvoided",
		"iscancelled", "iscanceled", "isdeleted"}
	// voidTimes say when it was cancelled, if they have a value.
	voidTimes = []string{"voidedat", "voiddate", "voidtime", "cancelledat", "canceledat", "cancelleddate",
		"canceleddate", "deletedat", "deleteddate"}
	// statusFields may have one of voidWords as their value.
	statusFields = []string{"status", "kdsstatus", "itemstatus", "orderstatus", "state", "action", "type", "operation",
		"changetype"}
	voidWords = []string{"void", "voided", "cancel", "canceled", "cancelled", "delete", "deleted"}
	// removedWords cancel an item or a record. Of a modifier they say that its dish is made without it.
	removedWords = []string{"remove", "removed"}
)

// void says whether a record or an item is a cancellation, in any of the spellings that services use. modifier says
// that it belongs to an item. The caller applies it to everything nested below. All of them are read, and one is
// enough: an order that is mistaken for a void is noticed at the table, a void that is mistaken for an order is cooked.
func (r *reader) void(quantity decimal, modifier bool) bool {
	found := ""
	for _, key := range r.keys() {
		v, kind := r.obj[key], kindOf(key)
		if saysVoid(kind, v, modifier) {
			r.used = append(r.used, key)
			if found == "" {
				found = key
			}
		} else if yes, readable := parseBool(v); kind == voidFlag && readable && !yes {
			r.used = append(r.used, key)
		}
	}
	if quantity.neg && found == "" {
		found = "a quantity below zero"
	}
	if found != "" && r.found != nil {
		*r.found = append(*r.found, Found{Field: "void", Path: found, Value: "true"})
	}
	return found != ""
}

// A voidKind says how a field says that it is a cancellation.
type voidKind int

const (
	noVoid voidKind = iota
	voidFlag
	voidTime
	voidStatus
)

// voidKinds has each field of the table by its name.
var voidKinds = func() map[string]voidKind {
	kinds := map[string]voidKind{}
	for kind, names := range map[voidKind][]string{
		voidFlag: voidFlags, voidTime: voidTimes, voidStatus: statusFields,
	} {
		for _, name := range names {
			kinds[name] = kind
		}
	}
	return kinds
}()

// kindOf returns how a field may say that it is a cancellation. It allocates nothing: it is asked for each field of
// each item.
func kindOf(key string) voidKind {
	var name [24]byte // longer than each name of the table
	n := 0
	for i := range len(key) {
		c := key[i]
		switch {
		case c == '_' || c == '-' || c == ' ':
			continue
		case 'A' <= c && c <= 'Z':
			c += 'a' - 'A'
		}
		if n == len(name) {
			return noVoid
		}
		name[n] = c
		n++
	}
	return voidKinds[string(name[:n])]
}

// saysVoid says whether a field is a cancellation.
func saysVoid(kind voidKind, v any, modifier bool) bool {
	switch kind {
	case voidFlag:
		yes, _ := parseBool(v)
		return yes
	case voidTime:
		return v != false && !isEmpty(v)
	case voidStatus:
		s, _ := v.(string)
		word := normalized(s)
		return slices.Contains(voidWords, word) || !modifier && slices.Contains(removedWords, word)
	}
	return false
}
