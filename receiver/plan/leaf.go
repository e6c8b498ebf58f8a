package plan

import (
	"cmp"
	"slices"
	"strings"
	"unicode"

	"ticketrail/receiver/contract"
)

// A Use is what became of a field.
type Use string

const (
	Unread   Use = "unread"   // no path reads it: it prints as it came
	Read     Use = "read"     // see Leaf.As
	Noise    Use = "noise"    // no cook needs it
	Silenced Use = "silenced" // no path reads it, and the configuration leaves it out
)

// A Leaf is a value of a request that holds no others.
type Leaf struct {
	Path    string // its keys from the body's root with dots between them, without indices: records.items.note
	Use     Use
	As      string // what read it: the key under ticket.fields, or "contract"; of noise, the reason
	Example string // what it says, as [OneLine] of 40 characters
}

// Leaves returns the leaves of a request in the order received; none of one that cannot be read.
func (p *Plan) Leaves(req contract.PrintRequest) (all []Leaf) {
	if slices.ContainsFunc(req.Records, func(r contract.Record) bool { return r.Unreadable != "" }) {
		return nil
	}
	s := p.newSplitter(req)
	s.splitRecords(req)
	s.leaves(req.Envelope, "", markNothing, "", func(l Leaf) { all = append(all, l) })
	return all
}

// leaves calls emit for each leaf of a value. read is the mark of what v is part of, and why says why that is noise.
func (s *splitter) leaves(v contract.Value, path string, read mark, why string, emit func(Leaf)) {
	if len(v) == 0 {
		return
	}
	if m := s.marks[v.Index()]; m != markNothing && (m != markSilenced || read == markNothing) {
		read = m
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

	l := Leaf{Path: path, Use: Unread, Example: OneLine(scalarText(v), maxExample)}
	switch {
	case read == markSilenced:
		l.Use = Silenced
	case read == markContract:
		l.Use, l.As = Read, "contract"
	case read != markNothing:
		l.Use, l.As = Read, fields[read-1].name
	default:
		key := lastKey(path)
		in := strings.TrimSuffix(strings.TrimSuffix(path, key), ".")
		if l.As = cmp.Or(why, noiseValue(in, key, v)); l.As != "" {
			l.Use = Noise
		}
	}
	emit(l)
}

// maxPrefix is how many bytes of a path are kept in front of its last key. A body may have one long key with as many
// values below it as it has room for.
const maxPrefix = 200

// joined is a dotted path: a key in an object at another path.
func joined(in, key string) string {
	switch {
	case in == "":
		return key
	case len(in) > maxPrefix:
		in = strings.ToValidUTF8(in[:maxPrefix], "") + "…"
	}
	return in + "." + key
}

// A mark says what has read a value: a field, or one of those below.
type mark uint8

const (
	markNothing  mark = 0 // else 1 + fieldID
	markContract mark = 100 + iota
	markItems
	markSilenced
)

// mark says that a field has read a value.
func (s *splitter) mark(v contract.Value, id fieldID) { s.marks[v.Index()] = 1 + mark(id) }

func (s *splitter) isRead(v contract.Value) bool {
	m := s.marks[v.Index()]
	return m != markNothing && m != markSilenced
}

// A silence is the rest of silenced paths, below a key that they have in common.
type silence struct {
	ends  bool                // so a path ends here
	below map[string]*silence // by the next key, as [fold] has it
}

func (s *silence) add(path string) {
	for key := range strings.SplitSeq(path, ".") {
		name := folded(key)
		if s.below == nil {
			s.below = map[string]*silence{}
		}
		if s.below[name] == nil {
			s.below[name] = &silence{}
		}
		s = s.below[name]
	}
	s.ends = true
}

// silence marks the values at silenced paths. A field that reads one of them marks it anew.
func (s *splitter) silence(v contract.Value, rest *silence) {
	switch v.Kind() {
	case '{':
		var buf [64]byte
		for member := range v.All() {
			if below := rest.below[string(fold(buf[:0], member.Key()))]; below != nil {
				s.silence(member, below)
			}
		}
	case '[':
		for e := range v.All() {
			s.silence(e, rest)
		}
	default:
		if rest.ends {
			s.marks[v.Index()] = markSilenced
		}
	}
}

func lastKey(path string) string { return path[strings.LastIndexByte(path, '.')+1:] }

const maxExample = 40 // runes

// OneLine is text for people, of at most so many runes and without control characters.
func OneLine(text string, most int) string {
	n := 0
	line := strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			r = ' '
		}
		if n == most || !unicode.IsGraphic(r) {
			return -1
		}
		n++
		return r
	}, text)
	return strings.Clone(line) // it is kept, and the body that text may point into is not
}
