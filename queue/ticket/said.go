package ticket

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"
)

// A Digest stands for the words of tickets, or for a body.
type Digest [16]byte

// A Share is the part of one order of a request for one station: its drafts whose [Ticket.Order] is the same. If a
// later content under the id of the request changes a share, all of it prints again.
type Share struct {
	Station string
	Order   string // as people call it: #142, Table 12; empty: the service did not say
	Said    Digest
	Drafts  []int // their indexes
}

// Shares returns the shares of all drafts in the order of their first drafts, and the digest of all of them, which
// does not depend on that order.
func Shares(drafts []Draft) ([]Share, Digest) {
	shares := make([]Share, 0, len(drafts))
	at := make(map[[2]string]int, len(drafts))
	said := make([]Digest, len(drafts))
	for i := range drafts {
		draft := &drafts[i]
		said[i] = draft.Ticket.Said()

		order := draft.Ticket.Order()
		place, ok := at[[2]string{draft.Station, order}]
		if !ok {
			place = len(shares)
			at[[2]string{draft.Station, order}] = place
			shares = append(shares, Share{Station: draft.Station, Order: order})
		}

		shares[place].Drafts = append(shares[place].Drafts, i)
	}

	all := make([][]byte, len(shares))
	for i := range shares {
		share := &shares[i]
		var parts [][]byte
		for _, d := range share.Drafts {
			parts = append(parts, said[d][:])
		}

		share.Said = digestOf(nil, parts)
		all[i] = append(appendWords(nil, share.Station, share.Order), share.Said[:]...)
	}
	return shares, digestOf(nil, all)
}

// Order is the name of a ticket's order, as people say it, shortened; empty if it has neither a number nor a table. It
// is stored with the key of the request, and later contents are matched by it, so its text must not change. The other
// stations of an order are found by [Ticket.OrderInRequest], which is not stored and not shortened.
func (t *Ticket) Order() string {
	text := cmp.Or(NumberLabel(t.Number), TableLabel(t.Table, t.Type))
	if len(text) <= maxOrder {
		return text
	}
	return strings.ToValidUTF8(text[:maxOrder], "") + "…"
}

// maxOrder bounds, in bytes, the name of an order that is stored with the key of its request.
const maxOrder = 40

// Said is the digest of the words that a cook reads on a ticket. It leaves out the parts that may differ between a
// request and its retry: ids, times, devices, and names that are looked up, such as the server's. Items may be in any
// sequence; the lines of an item may not.
//
// The queue stores it. After a change here, a retry that comes after an upgrade prints again, as CHANGED.
func (t *Ticket) Said() Digest {
	head := appendWords(make([]byte, 0, 256), string(t.Kind), t.Number, t.Table, t.Type, t.Guests, t.Customer,
		t.Promised, t.Destination, t.Course, t.MayCancel, rawSaid(t.Raw))
	head = binary.AppendVarint(appendList(head, t.Notes), int64(t.More))
	head = appendFlags(head, t.Void, t.Refire, t.Rush, t.Hold)

	var lines []byte
	var begins []int // of the items
	for i := range t.Lines {
		if line := &t.Lines[i]; line.Depth <= 0 || i == 0 {
			begins = append(begins, len(lines))
		}
		lines = t.Lines[i].appendSaid(lines)
	}

	items := make([][]byte, len(begins))
	for i, begin := range begins {
		end := len(lines)
		if i+1 < len(begins) {
			end = begins[i+1]
		}
		items[i] = lines[begin:end]
	}

	return digestOf(head, items)
}

func (l *Line) appendSaid(b []byte) []byte {
	name := l.Name
	if l.Raw {
		name = rawSaid(name)
	}

	b = binary.AppendVarint(b, int64(l.Depth))
	b = binary.AppendVarint(b, int64(l.More))
	b = appendWords(b, l.Quantity, name, l.Seat, l.Course, l.MayCancel)
	b = appendList(b, l.Notes)
	return appendFlags(b, l.Raw, l.Void, l.Refire, l.NoRoute, l.Hold)
}

// DigestOf is the digest of bytes.
func DigestOf(b []byte) Digest {
	sum := sha256.Sum256(b)
	return Digest(sum[:16])
}

// digestOf hashes a head and parts. It sorts the parts, so their sequence does not matter.
func digestOf(head []byte, parts [][]byte) Digest {
	slices.SortFunc(parts, bytes.Compare)
	all := append(binary.AppendUvarint(nil, uint64(len(head))), head...)
	for _, p := range parts {
		all = append(binary.AppendUvarint(all, uint64(len(p))), p...)
	}
	return DigestOf(all)
}

// appendWords writes strings with their lengths, so that no two lists of as many strings have the same bytes.
func appendWords(b []byte, words ...string) []byte {
	for _, s := range words {
		b = append(binary.AppendUvarint(b, uint64(len(s))), s...)
	}
	return b
}

func appendList(b []byte, list []string) []byte {
	return appendWords(binary.AppendUvarint(b, uint64(len(list))), list...)
}

func appendFlags(b []byte, flags ...bool) []byte {
	for _, f := range flags {
		if f {
			b = append(b, 1)
		} else {
			b = append(b, 0)
		}
	}
	return b
}

// rawSaid is the text of JSON on a ticket without the members that may differ in a retry: metadata, times, and the ids
// that things have of their own. No cook knows a dish by these. The text need not be JSON.
func rawSaid(raw string) string {
	return stringOrMember.ReplaceAllStringFunc(raw, func(part string) string {
		key, value, isMember := strings.Cut(part[1:], `":`)
		isMember = isMember && !strings.HasSuffix(key, `\`) // else the quotation mark may be a part of a text
		value = strings.Trim(value, " \t\r\n\"")
		isOwnID := key == "id" && len(value) == len("6f1c8f5e-52ad-4a0b-9e9b-2f7b7b7f3a11") &&
			strings.Count(value, "-") == 4
		if isMember && (IsMetadata(key) || IsTime(key, value) || isOwnID) {
			return ""
		}
		return part
	})
}

// stringOrMember matches a whole string; if that is the key of a text or a number, the value too. Matches follow each
// other from the left, so each begins at the opening quotation mark of a string.
var stringOrMember = regexp.MustCompile(`"(?:[^"\\]|\\.)*"(?::\s*(?:"(?:[^"\\]|\\.)*"|[-+.\w]+)\s*)?`)

// IsMetadata says that a key is about the transport or the service's database, not about the order. It does not print,
// and its value may differ in a retry. An allergy, a note or a cancellation is about the order under any key.
func IsMetadata(key string) bool {
	return key == "retryCount" || strings.HasPrefix(key, "_") && !isSpoken(strings.ToLower(key))
}

// isSpoken says whether a key in lower case belongs to a text for people. Each member of a body is asked.
func isSpoken(key string) bool {
	return slices.ContainsFunc(spokenWords, func(word string) bool { return strings.Contains(key, word) })
}

var spokenWords = []string{"allerg", "diet", "intoleran", "anaphyl", "note", "comment", "instruct", "remark",
	"void", "cancel", "delete", "refund", "reject", "returned"}

// IsTime says whether a text or a number under a key is a time.
func IsTime(key, value string) bool {
	return len(value) >= 10 && (new(time.Time).UnmarshalText([]byte(value)) == nil || IsUnixTime(key, value))
}

// IsUnixTime says whether a number under a key is a time since 1970: in seconds, of the years 2001 to 2065, or in
// fractions of them down to nanoseconds.
func IsUnixTime(key, number string) bool {
	return len(number) >= 10 && unixTime.MatchString(number) && IsTimeKey(key)
}

var unixTime = regexp.MustCompile(`^[12]\d{9}(?:\d{3}){0,3}(?:\.\d+)?$`)

// IsTimeKey says whether the last word of a key says that its value is a time: addedAt, not heat. A number under
// another key may be anything.
func IsTimeKey(key string) bool {
	isUpper := func(c byte) bool { return 'A' <= c && c <= 'Z' }
	return slices.ContainsFunc(timeWords, func(word string) bool {
		begin := len(key) - len(word)
		if begin <= 0 || !strings.EqualFold(key[begin:], word) {
			return begin == 0 && strings.EqualFold(key, word)
		}

		isLetter := isUpper(key[begin-1]) || 'a' <= key[begin-1] && key[begin-1] <= 'z'
		return !isLetter || isUpper(key[begin]) && !isUpper(key[begin-1])
	})
}

var timeWords = []string{"at", "on", "time", "date", "datetime", "timestamp", "ts", "epoch"}

// Hash is a short name for a list of words. Each is hashed with its length, so that no two lists of as many
// words have the same bytes. Displays compare it with the hashes that earlier versions sent.
func Hash(words ...string) string {
	hash := sha256.New()
	for _, s := range words {
		hash.Write(binary.BigEndian.AppendUint64(nil, uint64(len(s))))
		hash.Write([]byte(s))
	}
	return hex.EncodeToString(hash.Sum(nil)[:8])
}

// A service has one field for a table, a guest's name and the number of a delivery service, and one for the
// number that is called out. The labels below turn them into a kitchen's words.

// NumberLabel is an order's number as it is called out: "#18" for 18 and for #18, "" for "". Anything other
// than one word is said as it is: "UberEats 4F2A".
func NumberLabel(number string) string {
	number = strings.TrimPrefix(number, "#")
	if number == "" || strings.Contains(number, " ") {
		return number
	}
	return "#" + number
}

// TableLabel is the kitchen's name for the table of an order of that type: "Table 12" for 12, "Table B10" for B10.
// The word stands only before a number, which may have up to two letters. Anything else is a name and is
// said as it is: "Priya", "Terrace 4", "UberEats 4F2A", "Table 12". There is no word either if the order
// leaves the house, see [LeavesHouse].
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

	if digits == 0 || letters > 2 || LeavesHouse(orderType) {
		return table
	}
	return "Table " + table
}

// LeavesHouse says whether an order of that type is not eaten at a table: a take-away, a collection, a delivery.
// An unknown type is eaten at a table.
func LeavesHouse(orderType string) bool {
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

// Clock is the time of day in a zone. Without a known zone it is UTC, and says so: a wrong time that looks right
// would be worse.
func Clock(t time.Time, zone string) string {
	local, known := InZone(t, zone)
	switch {
	case t.IsZero():
		return ""
	case !known:
		return local.Format("15:04 UTC")
	}
	return local.Format("15:04")
}

// InZone returns t in a zone, or in UTC if the zone is not set or unknown.
func InZone(t time.Time, zone string) (_ time.Time, known bool) {
	// "Local" would be the zone of this program, which says nothing about the kitchen.
	if zone != "" && zone != "UTC" && zone != "Local" {
		if loc, err := time.LoadLocation(zone); err == nil {
			return t.In(loc), true
		}
	}
	return t.UTC(), false
}

// Short is a request id as people compare it between two tickets: its last six characters.
func Short(request string) string {
	runes := []rune(request)
	return string(runes[max(0, len(runes)-6):])
}

// Plural is "1 ticket", "2 tickets".
func Plural(n int, one string) string {
	if n == 1 {
		return fmt.Sprintf("1 %s", one)
	}
	return fmt.Sprintf("%d %ss", n, one)
}
