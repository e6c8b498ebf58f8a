package plan

import (
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
	As      string // what read it: the key under ticket.fields, or "contract"
	Example string // what it says, at most 40 characters
}

// Leaves returns the leaves of a request in the order received, without those of records that cannot be read.
func (p *Plan) Leaves(req contract.PrintRequest) (all []Leaf) {
	s := p.newSplitter(req)
	s.splitRecords(req)
	for _, r := range req.Records {
		if r.Unreadable != "" {
			s.marks[r.Fields.Index()] = markUnreadable
		}
	}
	s.leaves(req.Envelope, "", markNothing, false, func(l Leaf) { all = append(all, l) })
	return all
}

// leaves calls emit for each leaf of a value. read is the mark of what v is part of, and noise says that this is noise.
func (s *splitter) leaves(v contract.Value, path string, read mark, noise bool, emit func(Leaf)) {
	if len(v) == 0 {
		return
	}
	if m := s.marks[v.Index()]; m != markNothing {
		read = m
	}
	switch read {
	case markUnreadable:
		return
	case markItems:
		read = markNothing // they are read one by one
	}
	if kind := v.Kind(); kind == '{' || kind == '[' {
		for e := range v.All() {
			at, inNoise := path, noise
			if kind == '{' {
				at = strings.TrimPrefix(path+"."+e.Key(), ".")
				inNoise = noise || isNoise(e)
			}
			s.leaves(e, at, read, inNoise, emit)
		}
		return
	}

	l := Leaf{Path: path, Use: Unread, Example: example(v)}
	switch {
	case read == markContract:
		l.Use, l.As = Read, "contract"
	case read != markNothing:
		l.Use, l.As = Read, fields[read-1].name
	case noise || noiseValue(lastKey(path), v):
		l.Use = Noise
	case s.plan.silences(path):
		l.Use = Silenced
	}
	emit(l)
}

// A mark says what has read a value: a field, or one of those below.
type mark uint8

const (
	markNothing  mark = 0 // else 1 + fieldID
	markContract mark = 100 + iota
	markItems
	markUnreadable
)

// mark says that a field has read a value.
func (s *splitter) mark(v contract.Value, id fieldID) { s.marks[v.Index()] = 1 + mark(id) }

func (s *splitter) isRead(v contract.Value) bool { return s.marks[v.Index()] != markNothing }

// noteUnread says whether an unread value prints, and lists it.
func (s *splitter) noteUnread(v contract.Value) (prints bool) {
	path := s.pathOf(v)
	if s.plan.silences(path) {
		return false
	}
	if isNew := !slices.ContainsFunc(s.res.Unread, func(l Leaf) bool { return l.Path == path }); isNew &&
		len(s.res.Unread) < maxUnread {
		s.res.Unread = append(s.res.Unread, Leaf{Path: path, Use: Unread, Example: example(v)})
	}
	return true
}

// pathOf is the path of a value: see [Leaf.Path].
func (s *splitter) pathOf(v contract.Value) string {
	var keys []string
	for at := s.envelope; at.Index() != v.Index(); {
		for e := range at.All() {
			if v.Index() < e.Index()+len(e) {
				if at.Kind() == '{' {
					keys = append(keys, e.Key())
				}
				at = e
				break
			}
		}
	}
	return strings.Join(keys, ".")
}

// silences says whether the configuration leaves out an unread field. Names match as those of ticket.fields do.
func (p *Plan) silences(path string) bool { return len(p.silenced) > 0 && p.silenced[foldedPath(path)] }

func foldedPath(path string) string {
	var b []byte
	for key := range strings.SplitSeq(path, ".") {
		b = append(fold(b, key), '.')
	}
	return string(b)
}

func lastKey(path string) string { return path[strings.LastIndexByte(path, '.')+1:] }

// example is what a value says, at most 40 characters on one line.
func example(v contract.Value) string {
	runes := []rune(scalarText(v))
	if len(runes) > 40 {
		runes = append(runes[:39], '…')
	}
	for i, r := range runes {
		if unicode.IsControl(r) {
			runes[i] = ' '
		}
	}
	return string(runes)
}
