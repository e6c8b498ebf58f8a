package contract

import (
	"bytes"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/google/uuid"
)

// CanonicalID returns the form in which ids are compared and stored: a UUID (8-4-4-4-12, in upper or
// lower case) in lower case, any other id unchanged. It is idempotent. A retry that spells its id in
// another case must be recognised, or the order is cooked twice.
func CanonicalID(s string) (id string, isUUID bool) {
	if len(s) != 36 { // uuid.Parse also accepts other spellings, such as {...} and urn:uuid:
		return s, false
	}
	u, err := uuid.Parse(s)
	if err != nil {
		return s, false
	}
	return u.String(), true
}

// exactID is the value of the last JSON string in text. encoding/json reads every byte that is not UTF-8, and
// every surrogate without its other half, as U+FFFD: two ids would become one, and the second order a
// duplicate of the first. Such an id is quoted as in Go source, with its bytes as \xff; a surrogate counts as
// the three bytes that UTF-8 would have for it. Any other id is what encoding/json makes of it.
func exactID(text []byte) string {
	s := text[bytes.IndexByte(text, '"')+1 : bytes.LastIndexByte(text, '"')]
	var id []byte
	for len(s) > 0 {
		switch {
		case s[0] != '\\':
			id, s = append(id, s[0]), s[1:]
		case s[1] != 'u':
			c := s[1] // of an escape such as \n, else the byte itself
			if i := strings.IndexByte("bfnrt", c); i >= 0 {
				c = "\b\f\n\r\t"[i]
			}
			id, s = append(id, c), s[2:]
		default:
			r := hex4(s)
			s = s[6:]
			if utf16.IsSurrogate(r) && len(s) >= 6 && s[0] == '\\' && s[1] == 'u' {
				if pair := utf16.DecodeRune(r, hex4(s)); pair != utf8.RuneError {
					r, s = pair, s[6:]
				}
			}
			if utf16.IsSurrogate(r) {
				id = append(id, 0xe0|byte(r>>12), 0x80|byte(r>>6)&0x3f, 0x80|byte(r)&0x3f)
			} else {
				id = utf8.AppendRune(id, r)
			}
		}
	}
	if utf8.Valid(id) {
		return string(id)
	}
	return strconv.Quote(string(id))
}

// hex4 is the number in an escape \uXXXX, of which the parser has checked the form.
func hex4(escape []byte) rune {
	n, _ := strconv.ParseUint(string(escape[2:6]), 16, 32)
	return rune(n)
}
