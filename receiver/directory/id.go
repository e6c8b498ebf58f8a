package directory

// An id is a venue's or an employee's, as a key of maps: made from a string in any case of
// letters without allocating.
type id struct {
	isUUID bool
	uuid   [16]byte
	other  string // what is no UUID
}

// idOf gives two strings one id exactly if [contract.CanonicalID] makes the same of them.
func idOf(s string) id {
	if len(s) != 36 {
		return id{other: s}
	}
	k := id{isUUID: true}
	n := 0 // digits
	for i := range 36 {
		c := s[i]
		switch {
		case i == 8 || i == 13 || i == 18 || i == 23:
			if c != '-' {
				return id{other: s}
			}
			continue
		case '0' <= c && c <= '9':
			c -= '0'
		case 'a' <= c && c <= 'f':
			c -= 'a' - 10
		case 'A' <= c && c <= 'F':
			c -= 'A' - 10
		default:
			return id{other: s}
		}
		k.uuid[n/2] = k.uuid[n/2]<<4 | c
		n++
	}
	return k
}

const digits = "0123456789abcdef"

// String is the id as [contract.CanonicalID] has it.
func (k id) String() string {
	if !k.isUUID {
		return k.other
	}
	b := make([]byte, 0, 36)
	for i, c := range k.uuid {
		if i == 4 || i == 6 || i == 8 || i == 10 {
			b = append(b, '-')
		}
		b = append(b, digits[c>>4], digits[c&15])
	}
	return string(b)
}
