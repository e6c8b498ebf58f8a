package contract

// CanonicalID is the form in which ids are compared and stored: a UUID (8-4-4-4-12, in any
// case) in lower case, anything else as it is. It is idempotent.
func CanonicalID(s string) (id string, isUUID bool) {
	if len(s) != 36 {
		return s, false
	}
	upper := false
	for i := range len(s) {
		switch c := s[i]; {
		case i == 8 || i == 13 || i == 18 || i == 23:
			if c != '-' {
				return s, false
			}
		case '0' <= c && c <= '9', 'a' <= c && c <= 'f':
		case 'A' <= c && c <= 'F':
			upper = true
		default:
			return s, false
		}
	}
	if !upper {
		return s, true
	}
	b := []byte(s)
	for i, c := range b {
		if 'A' <= c && c <= 'F' {
			b[i] = c + ('a' - 'A')
		}
	}
	return string(b), true
}
