package plan

import (
	"bytes"
	"cmp"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"ticketrail/queue/ticket"
	"ticketrail/receiver/contract"
)

// This file lists the fields that no cook needs: they may be left out of a ticket although no path reads them. Whatever
// is not listed here prints. A rule that is too wide hides an allergy, one that is too narrow costs a line of paper, so
// each names its purpose, and a word is listed only if it means the same in every field.

// Reasons that more than one rule gives.
const (
	identifiers    = "identifiers"
	positionInList = "position in a list"
)

// noiseWords are the words that make a key noise, wherever they are in it: unitPrice, tax_rate.
var noiseWords = map[string][]string{
	"money": {"price", "prices", "pricing", "tax", "taxes", "total", "totals", "subtotal", "amount", "cost", "costs",
		"discount", "discounts", "currency", "tip", "gratuity", "fee", "fees", "payment", "payments", "paid",
		"balance", "tender", "refund", "refunds", "revenue"},
	"bookkeeping": {"created", "updated", "timestamp", "timestamps", "etag", "retry", "sync", "synced", "webhook",
		"locale", "language", "timezone"},
	"the service's own screen": {"image", "images", "icon", "thumbnail", "photo", "font", "url", "uri", "href", "sort",
		"sorting"},
}

// noiseLastWords are the words that make a key noise if they are its last: menuItemId, but not idCheck.
var noiseLastWords = map[string][]string{
	identifiers: {"id", "ids", "guid", "guids", "uuid", "uuids", "uid", "sku", "plu", "barcode", "gtin", "upc",
		"slug", "token", "hash", "checksum"},
	positionInList: {"index", "position", "rank", "ordinal", "sequence", "sequencenumber"},
}

// noiseKeys are whole keys, without separators and in lower case.
var noiseKeys = map[string][]string{
	"where the service sends it": {"destinationtype", "isforwarded", "forwarded", "source", "sourcetype", "channel",
		"entitytype", "objecttype", "object"},
	"flags that are set for every dish": {"active", "isactive", "enabled", "isenabled", "available", "isavailable",
		"taxable", "istaxable", "visible", "isvisible", "printed", "isprinted", "sent", "issent", "isopen",
		"isdefault", "default", "printable", "instock", "isnew", "iscustom", "ismodifier", "refundable",
		"isrefundable", "voidable", "isvoidable", "cancellable", "iscancellable"},
	"bookkeeping": {"version", "schemaversion", "apiversion", "menuversion", "entityversion", "modifiedby",
		"lastmodifiedby", "behavior", "behaviour"},
	positionInList:             {"line", "lineno", "linenumber"},
	"the service's own screen": {"backgroundcolor", "textcolor", "foregroundcolor"},
}

// usualStatus are the values of a status or a state that say only that there is something to cook.
var usualStatus = []string{"pending", "printed", "open", "opened", "new", "sent", "active", "created", "confirmed",
	"accepted", "received", "placed", "ordered", "inprogress", "success", "ok", "fulfilled", "normal", "default",
	"none", "paid", "unpaid", "closed", "completed", "ready", "fired"}

// noCourse are the names of a course that say only that there is none, without separators and in lower case.
var noCourse = []string{"nocourse", "none", "default", "null", "na", "unassigned", "uncoursed", "-"}

// wantedTime are the words of a key whose time a cook needs, so that it is no bookkeeping.
var wantedTime = []string{"promised", "promise", "due", "pickup", "collection", "ready", "fire", "fired", "scheduled",
	"schedule", "delivery", "deliver", "wanted", "requested", "eta", "estimated", "serve", "hold", "need", "needed",
	"required", "expected", "arrival", "arrive", "arriving", "serving", "eat", "reserved", "reservation", "booked",
	"booking"}

var (
	// allergyWords begin words. A text, list or object is never noise by its key if that has such a word.
	allergyWords = []string{"allerg", "diet", "intoleran", "anaphyl"}
	// warningWords begin the words of keys that must not be missed; these fields print first.
	warningWords = append([]string{"warn", "alert", "caution", "note", "instruct", "comment", "message", "special",
		"request", "void", "cancel", "remove", "exclu", "without", "omit", "return", "kitchen", "chef", "hold"},
		allergyWords...)
	// voidingWords are the cancellingWords that count even in the key of a note (voidNote); the others do not
	// (refundNote).
	voidingWords = []string{"void", "cancel", "annul", "anulad", "geannul", "stornier"}
	// cancellingWords begin words that may say that nothing is to be cooked.
	cancellingWords = append([]string{"delete", "refund", "reject", "returned"}, voidingWords...)
)

var (
	// noteWords begin the words of keys whose text instructs others: a refundNote.
	noteWords = []string{"note", "comment", "message", "instruct", "remark"}
	// writtenWords are noteWords, and reason: their texts are for people, such as a refundReason.
	writtenWords = append([]string{"reason"}, noteWords...)
)

// choices are the last words of keys whose "none" says only that there is no such thing. The none of `sauce: none` is
// the guest's wish.
var choices = []string{"type", "unit", "measure", "mode", "kind", "status", "state", "behavior", "behaviour", "policy"}

var (
	// colourValue matches colours for a screen.
	colourValue = regexp.MustCompile(`^#(?:[0-9A-Fa-f]{3,4}|[0-9A-Fa-f]{6}|[0-9A-Fa-f]{8})$`)
	// timeValue matches ISO 8601 dates with or without a time.
	timeValue = regexp.MustCompile(`^\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?:Z|[+-]\d\d:?\d\d)?)?$`)
	// moneyValue matches amounts with a currency sign.
	moneyValue = regexp.MustCompile(`^-?[$€£¥] ?\d[\d.,]*$|^-?\d[\d.,]* ?[$€£¥]$`)
)

// noiseTables are the tables as they are looked up: from each word to the reason.
var noiseTables = struct{ words, lastWords, keys map[string]string }{
	reasonsOf(noiseWords), reasonsOf(noiseLastWords), reasonsOf(noiseKeys),
}

func reasonsOf(table map[string][]string) map[string]string {
	all := map[string]string{}
	for reason, words := range table {
		for _, word := range words {
			all[word] = reason
		}
	}
	return all
}

// noiseKey says why a field is noise whatever its value is; "": it is none. It allocates nothing: it is asked for each
// field that no path reads.
func noiseKey(key string) (why string) {
	var buf [64]byte
	if ticket.IsMetadata(key) {
		return "bookkeeping"
	}
	if why := noiseTables.keys[string(fold(buf[:0], key))]; why != "" {
		return why
	}

	rest, word, found := appendWords(buf[:0], key), []byte(nil), true
	for found {
		word, rest, found = bytes.Cut(rest, []byte{' '})
		if why := noiseTables.words[string(word)]; why != "" {
			return why
		}
	}
	return noiseTables.lastWords[string(word)]
}

// isForCook says whether a value is for the cook although its key is noise for the reason why.
func isForCook(v contract.Value, why string) bool {
	if why == identifiers && hasWordLike(v.Key(), []string{"display"}) { // a displayId is the number that people say
		return true
	}

	switch v.Kind() {
	case 't':
		return hasWordLike(v.Key(), cancellingWords)
	case '"':
		if why == positionInList {
			if _, isNumber := toDecimal(v); !isNumber {
				return true
			}
		}
		// "amount": "extra" is of a topping, and no money.
		isWord := strings.EqualFold(v.Key(), "amount") && !strings.ContainsAny(v.Text(), "0123456789")
		// A payment that was refunded may be for a dish that is not to be made.
		isCancelled := isStatus(v.Key()) && hasWordLike(v.Text(), cancellingWords)
		// An id is never a sentence.
		return isWord || isCancelled || hasWordLike(v.Key(), allergyWords) ||
			why != identifiers && (hasWordLike(v.Key(), writtenWords) || endsWith(v.Key(), "text"))
	case '[', '{':
		return hasWordLike(v.Key(), allergyWords)
	}
	return false
}

// noiseValue says why a scalar is noise under its key, in the object at the path parent: it says nothing, or nothing to
// a cook. "": it is none.
func noiseValue(parent, key string, v contract.Value) (why string) {
	switch v.Kind() {
	case 'n', 'f':
		return "empty"
	case '0':
		switch {
		case ticket.IsUnixTime(key, v.Text()) && !isWantedTime(parent, key):
			return "bookkeeping"
		case len(v.Text()) >= 12 && !isWantedTime(parent, key):
			return identifiers
		}
	case '"':
		return noiseText(parent, key, strings.TrimSpace(v.Text()))
	}
	return ""
}

func noiseText(parent, key, s string) (why string) {
	// The none of a choice, a note or a warning says that there is no such thing.
	noneSaysNothing := func() bool {
		return hasWordLike(key, warningWords) ||
			slices.ContainsFunc(choices, func(word string) bool { return endsWith(key, word) })
	}

	if isBlank(s) || strings.EqualFold(s, "false") || strings.EqualFold(s, "null") ||
		strings.EqualFold(s, "none") && noneSaysNothing() {
		return "empty"
	}
	if _, isUUID := contract.CanonicalID(s); isUUID {
		return identifiers
	}
	if isStatus(key) && slices.Contains(usualStatus, folded(s)) {
		return "the usual status"
	}

	switch {
	case '0' <= s[0] && s[0] <= '9' && (timeValue.MatchString(s) || ticket.IsUnixTime(key, s)) &&
		!isWantedTime(parent, key):
		return "bookkeeping"
	case strings.HasPrefix(s, "http://"), strings.HasPrefix(s, "https://"), strings.HasPrefix(s, "data:"),
		s[0] == '#' && colourValue.MatchString(s):
		return "the service's own screen"
	case strings.ContainsAny(s, "$€£¥") && moneyValue.MatchString(s):
		return "money"
	}
	return ""
}

func isStatus(key string) bool { return endsWith(key, "status") || endsWith(key, "state") }

func endsWith(key, word string) bool {
	return len(key) >= len(word) && strings.EqualFold(key[len(key)-len(word):], word)
}

// isWantedTime says whether a cook needs the time under a key. The object of a mere "time" tells its meaning.
func isWantedTime(parent, key string) bool {
	words := wordsOf(key)
	if len(words) == 1 && ticket.IsTimeKey(key) {
		words = wordsOf(lastKey(parent))
	}
	return slices.ContainsFunc(words, func(w string) bool { return slices.Contains(wantedTime, w) })
}

// mayCancel says that a field may mean that nothing is to be cooked: by its key or by its value. The key of a note
// counts only with voidingWords, and a value only if it has at most two words: others only mention a refund.
func (u unread) mayCancel() bool {
	keyWords := cancellingWords
	if hasWordLike(u.key, noteWords) {
		keyWords = voidingWords
	}
	isShort := len(strings.Fields(u.value)) <= 2
	return u.cancels || hasWordLike(u.key, keyWords) || isShort && hasWordLike(u.value, cancellingWords)
}

// MayWarn says whether a field must not be missed: its path has a word of a warning, such as an allergy or a note, or
// its value may say that something is not to be cooked.
func MayWarn(path, value string) bool {
	field := unread{key: path, value: value}
	return hasWordLike(path, warningWords) || field.mayCancel() || field.removal() != ""
}

// hasWordLike says whether a word of the key begins with one of the beginnings. A refundable dish is not refunded, so
// words on -able do not count.
func hasWordLike(key string, beginnings []string) bool {
	var buf [64]byte
	rest, word, found := appendWords(buf[:0], key), []byte(nil), true
	for found {
		word, rest, found = bytes.Cut(rest, []byte{' '})
		for _, b := range beginnings {
			if len(word) >= len(b) && string(word[:len(b)]) == b && !bytes.HasSuffix(word, []byte("able")) {
				return true
			}
		}
	}
	return false
}

// wordsOf splits a key into its words in lower case: menuItemID, menu_item_id and menu-item-id alike.
func wordsOf(key string) []string { return strings.Fields(string(appendWords(nil, key))) }

// appendWords appends the words of a key with a blank between them.
func appendWords(b []byte, key string) []byte {
	last, isStart := utf8.RuneError, false // of a word
	for i, r := range key {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			isStart = true
			continue
		}
		next, _ := utf8.DecodeRuneInString(key[i+utf8.RuneLen(r):])
		// "menuItem", and the second word of "IDNumber".
		isStart = isStart || unicode.IsUpper(r) && (!unicode.IsUpper(last) || unicode.IsLower(next))
		if isStart && len(b) > 0 {
			b = append(b, ' ')
		}
		b = utf8.AppendRune(b, unicode.ToLower(r))
		last, isStart = r, false
	}
	return b
}

// Leaves returns the leaves of a request in the order received; none of one that cannot be read.
func (p *Plan) Leaves(req contract.PrintRequest) (all []Leaf) {
	if slices.ContainsFunc(req.Records, func(r contract.Record) bool { return r.Unreadable != "" }) {
		return nil
	}

	splitter := p.newSplitter(req)
	splitter.splitRecords(req)
	splitter.leaves(req.Envelope, "", markNothing, "", func(l Leaf) { all = append(all, l) })
	return all
}

// leaves calls emit for each leaf of a value. read is the mark of the value that v is part of, and why says why that
// one is noise.
func (s *splitter) leaves(v contract.Value, path string, read mark, why string, emit func(Leaf)) {
	if len(v) == 0 {
		return
	}
	if own := s.marks[v.Index()]; own != markNothing && (own != markSilenced || read == markNothing) {
		read = own
	}
	if read == markItems {
		read = markNothing // they are read one by one
	}

	if kind := v.Kind(); kind == '{' || kind == '[' {
		for e := range v.All() {
			at, whyBelow := path, why
			if kind == '{' {
				at = joined(path, e.Key())
				whyBelow = cmp.Or(why, noise(path, e))
			}
			s.leaves(e, at, read, whyBelow, emit)
		}
		return
	}

	leaf := Leaf{Path: path, Use: Unread, Example: contract.OneLine(scalarText(v), maxExample)}
	switch {
	case read == markSilenced:
		leaf.Use = Silenced
	case read == markContract:
		leaf.Use, leaf.As = Read, "contract"
	case read != markNothing:
		leaf.Use, leaf.As = Read, fields[read-1].name
	default:
		key := lastKey(path)
		parent := strings.TrimSuffix(strings.TrimSuffix(path, key), ".")
		if leaf.As = cmp.Or(why, noiseValue(parent, key, v)); leaf.As != "" {
			leaf.Use = Noise
		}
	}
	emit(leaf)
}

func lastKey(path string) string { return path[strings.LastIndexByte(path, '.')+1:] }

const maxExample = 60 // bytes
